"""Small campaigns, and disks that are full."""

import contextlib
import resource
from concurrent.futures import ThreadPoolExecutor

from flitloom.campaign import Store, parse_campaign, read_campaign, run_campaign
from places import ROOT

SMALL = ROOT / "examples" / "campaigns" / "small.toml"


@contextlib.contextmanager
def full_disk(size):
    """Files end at `size` bytes, as on a disk that is full then."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def finish_small(folder):
    """The file of a small campaign, whose finished store lies beside it."""
    file = folder / "small.toml"
    quick = SMALL.read_text().replace("generations = 60", "generations = 2").replace("training = 10", "")
    file.write_text(quick.replace("8x8", "4x4"))
    with contextlib.closing(Store(folder / "small.sqlite")) as store, ThreadPoolExecutor(2) as pool:
        run_campaign(read_campaign(file).jobs(), store, executor=pool)
    return file


def tiny(repeats):
    return parse_campaign(
        {
            "topology": {"sizes": "4x4"},
            "patterns": ["shfl"],
            "repeats": repeats,
            "genetic": {"generations": 3, "training": 1},
        }
    ).jobs()
