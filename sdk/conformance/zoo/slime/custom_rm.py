from slime.utils.types import Sample


async def custom_rm(args, sample: Sample, **kwargs) -> float:
    text = sample.response.split("</think>")[-1]
    return 1.0 if sample.label is not None and sample.label in text else 0.0
