"""Judges settings files by a JSON Schema with the package `jsonschema`, as an editor would.

Standard input is JSON: {"schema": {...}, "files": ["TOML", ...]}. The answer is a list with what is wrong with each file, null
where nothing is.
"""

import json
import sys
import tomllib

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

asked = json.load(sys.stdin)
Draft202012Validator.check_schema(asked["schema"])
schema = Draft202012Validator(asked["schema"])


def judge(file):
    error = best_match(schema.iter_errors(tomllib.loads(file)))
    return error and f"{error.json_path}: {error.message}"


print(json.dumps([judge(file) for file in asked["files"]]))
