"""What pages carry."""

import base64
import gzip
import json
import re

import numpy as np


def read(file):
    """Heads of what a page shows, with their columns as arrays."""
    text = file.read_text()
    (head,) = re.findall(r'id="head">(.*?)</script>', text, re.DOTALL)
    (packed,) = re.findall(r'id="columns">(.*?)</script>', text, re.DOTALL)
    data = gzip.decompress(base64.b64decode(packed))
    heads = json.loads(head)["runs"]
    for part in heads:
        for owner in (part, part["fabric"]):
            owner["columns"] = {
                name: np.frombuffer(data, "<" + place["type"], place["length"], place["offset"]).astype(
                    np.int64
                )
                for name, place in owner.get("columns", {}).items()
            }
    return heads
