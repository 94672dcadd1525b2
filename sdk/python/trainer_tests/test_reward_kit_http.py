"""reward-kit 0.4.1, as published, against a server: `reward-kit preview --remote-url`."""

import json

import http_clients
import http_server


def test_preview(tmp_path, capsys):
    """Promise: it prints score, validity and metrics of each sample, and the server's status where there is no score."""
    samples = tmp_path / "samples.jsonl"
    chat = [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "It is 4"}]
    rows = [{"messages": chat, "ground_truth": "4", "level": "easy"}, {"messages": chat, "ground_truth": "5"}, {"messages": chat}]
    samples.write_text("".join(json.dumps(r) + "\n" for r in rows))
    with http_server.serving(tmp_path / "serve") as url:
        assert http_clients.reward_kit_preview(url, str(samples)) == 0
    said = capsys.readouterr().out
    assert said.count("Score: 1.0") == said.count("Score: 0.0") == 1 and said.count("Is Valid: True") == 2
    assert f"Metric 'brevity': Score={1 / 7}, Valid=True, Reason=1 / characters" in said
    assert "Error calling remote URL" in said and "422" in said
