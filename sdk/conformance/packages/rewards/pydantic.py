from typing import List

from pydantic import BaseModel, ValidationError, conint


class Person(BaseModel):
    name: str
    age: conint(ge=0)
    tags: List[str] = []


def reward(messages, **kwargs):
    try:
        return 1.0 + len(Person.parse_raw(messages[-1]["content"]).tags) / 10
    except ValidationError as e:
        return 1 / (2 + len(e.errors()))
