from bs4 import BeautifulSoup


def reward(messages, ground_truth):
    page = BeautifulSoup(messages[-1]["content"], "html.parser")
    words = page.get_text(" ", strip=True).split()
    return len(set(words) & set(ground_truth.split())) / len(set(words) | set(ground_truth.split())) + 0.1 * len(page.select("p > b"))
