import json, re, collections, string

def split_into_sentences(text):
    return [s for s in re.split(r"(?<=[.!?])\s+", text.strip()) if s]

class Instruction:
    def __init__(self, **kw): self.kw = kw
    def check(self, value): raise NotImplementedError
class NumberOfWords(Instruction):
    def check(self, v):
        n = len(re.findall(r"\w+", v))
        return n < self.kw["num_words"] if self.kw["relation"] == "less than" else n >= self.kw["num_words"]
class Keywords(Instruction):
    def check(self, v): return all(re.search(k, v, flags=re.IGNORECASE) for k in self.kw["keywords"])
class ForbiddenWords(Instruction):
    def check(self, v): return not any(re.search(r"\b" + w + r"\b", v, flags=re.IGNORECASE) for w in self.kw["forbidden_words"])
class BulletLists(Instruction):
    def check(self, v):
        a = re.findall(r"^\s*\*[^\*].*$", v, flags=re.MULTILINE); b = re.findall(r"^\s*-.*$", v, flags=re.MULTILINE)
        return len(a) + len(b) == self.kw["num_bullets"]
class JsonFormat(Instruction):
    def check(self, v):
        v = v.strip().removeprefix("```json").removeprefix("```Json").removeprefix("```JSON").removeprefix("```").removesuffix("```").strip()
        try: json.loads(v)
        except ValueError: return False
        return True
class LowercaseEnglish(Instruction):
    def check(self, v): return v.islower()
class NoComma(Instruction):
    def check(self, v): return not re.search(r"\,", v)
class Title(Instruction):
    def check(self, v): return any(t.lstrip("<").rstrip(">").strip() for t in re.findall(r"<<[^\n]+>>", v))
class Postscript(Instruction):
    def check(self, v): return bool(re.findall(r"\s*p\.\s?s\..*$", v.lower(), flags=re.MULTILINE))

INSTRUCTION_DICT = {
    "length_constraints:number_words": NumberOfWords, "keywords:existence": Keywords, "keywords:forbidden_words": ForbiddenWords,
    "detectable_format:number_bullet_lists": BulletLists, "detectable_format:json_format": JsonFormat,
    "change_case:english_lowercase": LowercaseEnglish, "punctuation:no_comma": NoComma, "detectable_format:title": Title, "detectable_content:postscript": Postscript}

def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    gt = json.loads(ground_truth) if isinstance(ground_truth, str) else ground_truth
    if "</think>" in solution_str:
        solution_str = solution_str.split("</think>", 1)[1].strip()
    results = []
    for iid, kw in zip(gt["instruction_id_list"], gt["kwargs"]):
        kw = {k: v for k, v in (kw or {}).items() if v is not None}
        results.append(bool(solution_str.strip()) and INSTRUCTION_DICT[iid](**kw).check(solution_str))
    return {"score": sum(results) / len(results), "strict": all(results), "follow_list": results}
