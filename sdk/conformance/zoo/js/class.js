class Judge {
  #weight = 0.5;
  static tags = ["<think>", "</think>", "<answer>", "</answer>"];
  get weight() {
    return this.#weight;
  }
  score(text) {
    return Judge.tags.filter((t) => text.split(t).length === 2).length * this.weight;
  }
}

const judge = new Judge();
export default ({ messages }) => ({ score: judge.score(String(messages.at(-1).content)), reason: "tags", metrics: { n: { score: 1, is_score_valid: true } } });
