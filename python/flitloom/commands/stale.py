"""An extension that was built from other sources than those beside it, as a reason for an error."""

from __future__ import annotations

from pathlib import Path

#: Folder of this package.
PACKAGE = Path(__file__).resolve().parents[1]


def reason(error: Exception, package: Path = PACKAGE) -> str | None:
    """Why names or arguments of the extension are missing in a clone, and what to do; None where it is new.

    Parameters
    ----------
    error : exception
        What happened.
    package : path
        Folder of the package, with the extension; the sources are two folders above.
    """
    sources = [*package.parents[1].glob("core/src/**/*.rs"), *package.parents[1].glob("bindings/src/**/*.rs")]
    if not sources:
        # No clone: the wheel has both.
        return None
    built = next(package.glob("_core*.so"), None)
    if built is None:
        return "the extension flitloom._core is not built; make build builds it"
    newest = max(sources, key=lambda file: file.stat().st_mtime)
    if newest.stat().st_mtime <= built.stat().st_mtime:
        return None
    source = newest.relative_to(package.parents[1])
    what = f"{type(error).__name__}: {error}"
    return (
        f"the extension flitloom._core is older than {source}; make build builds it anew ({what[:200]}; "
        "-v shows where)"
    )
