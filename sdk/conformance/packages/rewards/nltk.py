from nltk.metrics import edit_distance
from nltk.stem import PorterStemmer
from nltk.tokenize import TreebankWordTokenizer
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

tokens, stem = TreebankWordTokenizer().tokenize, PorterStemmer().stem


def reward(messages, ground_truth):
    said, want = ([stem(t) for t in tokens(text)] for text in (messages[-1]["content"], ground_truth))
    return sentence_bleu([want], said, smoothing_function=SmoothingFunction().method1) - 0.01 * edit_distance(said, want)
