import pint

units = pint.UnitRegistry()


def reward(messages, ground_truth):
    try:
        said = units.Quantity(messages[-1]["content"])
        return 1 / (1 + abs((said / units.Quantity(ground_truth)).to("dimensionless").magnitude - 1))
    except (pint.errors.DimensionalityError, pint.errors.UndefinedUnitError):
        return 0.0
