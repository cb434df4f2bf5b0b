#!/usr/bin/env python3
"""Record the live page as a moving picture: ``make recording``.

Needs Chromium with its driver, as the tests of pages do, and Pillow. Every frame is a screenshot of the page
at a cycle.
"""

import argparse
import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from selenium.webdriver.support.wait import WebDriverWait

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browser import start  # noqa: E402
from flitloom.view.page import write_live_page  # noqa: E402


def record(out: Path, lesson: str, step: int, size: tuple[int, int]) -> None:
    """Write frames of a lesson, a frame every `step` cycles, as an animated WebP."""
    frames = []
    with tempfile.TemporaryDirectory() as place:
        page = Path(place) / "live.html"
        write_live_page(page)
        driver = start()
        try:
            screen = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
            driver.get(f"{page.as_uri()}#lesson={lesson}")
            ready = "return document.body.dataset.ready"
            WebDriverWait(driver, 60).until(lambda one: one.execute_script(ready))
            driver.execute_script("document.getElementById('controls').scrollIntoView()")
            last = driver.execute_script("return Number(document.getElementById('cycle').max)")
            for cycle in [*range(0, last, step), last]:
                driver.execute_script(
                    "const slider = document.getElementById('cycle'); slider.value = arguments[0];"
                    "slider.dispatchEvent(new Event('input'))",
                    cycle,
                )
                # What is drawn before the next frame is drawn then.
                driver.execute_async_script(
                    "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"
                )
                image = Image.open(io.BytesIO(driver.get_screenshot_as_png()))
                frames.append(image.convert("RGB"))
        finally:
            driver.quit()
    pauses = [90] * (len(frames) - 1) + [1500]
    how = {"loop": 0, "quality": 45, "method": 6}
    frames[0].save(out, save_all=True, append_images=frames[1:], duration=pauses, **how)
    print(f"{out}: {len(frames)} frames, {out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--lesson", default="slices")
    parser.add_argument("--step", type=int, default=5, help="cycles between frames")
    parser.add_argument("--size", default="1000x700", help="of the window, in pixels")
    asked = parser.parse_args()
    width, height = map(int, asked.size.split("x"))
    record(asked.out, asked.lesson, asked.step, (width, height))
