import json

import networkx as nx


def reward(messages, ground_truth):
    """The share of the shortest path that the answer's path keeps to."""
    graph = nx.Graph()
    graph.add_weighted_edges_from(json.loads(ground_truth))
    path = messages[-1]["content"].split()
    if not nx.is_path(graph, path):
        return 0.0
    return nx.shortest_path_length(graph, path[0], path[-1], weight="weight") / nx.path_weight(graph, path, weight="weight")
