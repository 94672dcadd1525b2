import pyparsing as pp

integer = pp.Word(pp.nums)
call = pp.Word(pp.alphas)("name") + "(" + pp.DelimitedList(integer)("args") + ")"


def reward(messages, ground_truth):
    try:
        said = call.parse_string(messages[-1]["content"], parse_all=True)
    except pp.ParseException as e:
        return e.loc / 100
    return float(said["name"] == ground_truth) + sum(map(int, said["args"])) / 10
