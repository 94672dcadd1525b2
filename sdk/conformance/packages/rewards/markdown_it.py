from markdown_it import MarkdownIt


def reward(messages, **kwargs):
    tokens = MarkdownIt().parse(messages[-1]["content"])
    kinds = [t.type for t in tokens]
    return 0.1 * kinds.count("heading_open") + 0.01 * kinds.count("list_item_open") + 0.001 * kinds.count("fence")
