from lark import Lark, UnexpectedInput

grammar = Lark(
    """
    start: sum
    sum: product (("+" | "-") product)*
    product: atom (("*" | "/") atom)*
    atom: NUMBER | "(" sum ")"
    %import common.NUMBER
    %ignore " "
    """,
    parser="lalr",
)


def reward(messages, **kwargs):
    try:
        tree = grammar.parse(messages[-1]["content"])
    except UnexpectedInput as e:
        return 0.5 * (e.column - 1) / len(messages[-1]["content"])
    return 1 / (1 + len(list(tree.find_data("product"))))
