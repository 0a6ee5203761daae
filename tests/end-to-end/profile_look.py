#!/usr/bin/env python3
"""tests/end-to-end/profile_look.py QUESTION... - of what `hark show --json`
writes: one line, an answer for each question.

    between NAME LOW HIGH  yes, if the share of the samples with NAME on their
                           stack is; else the share
    lasts NAME NS LOW HIGH
                           yes, if what has NAME on its stack is, in time, LOW to
                           HIGH times so much; else how many times
    deep NAME              the most times that NAME stands on one stack
    samples LOW HIGH       yes, if there are so many; else how many
    weight LOW HIGH        the same of what they stand for
    threads, processes, lost, complete, status: the number
"""
import json
import sys


def total(page, name):
    return max((f["total"] for f in page["functions"] if f["name"] == name),
               default=0)


def between(value, low, high):
    return "yes" if float(low) <= value <= float(high) else f"{value:.3f}"


def main():
    words = sys.argv[1:]
    page = json.load(sys.stdin)
    answers = []
    while words:
        word = words.pop(0)
        if word == "between":
            name, low, high = words[:3]
            del words[:3]
            share = total(page, name) / max(page["weight"], 1)
            answers.append(between(share, low, high))
        elif word == "lasts":
            name, ns, low, high = words[:4]
            del words[:4]
            a_weight = 1 if page["unit"] == "ns" else page["period_ns"]
            lasted = total(page, name) * a_weight / float(ns)
            answers.append(between(lasted, low, high))
        elif word == "deep":
            name = words.pop(0)
            answers.append(str(max((c["calls_most"] for c in page["calls"]
                                    if c["name"] == name), default=0)))
        elif word in ("samples", "weight"):
            answers.append(between(page[word], words.pop(0), words.pop(0)))
        elif word == "threads":
            answers.append(str(len(page["threads"])))
        elif word == "status":
            answers.append(f"{page['exit_status']} {page['signal']}")
        else:
            answers.append(str(page[word]))
    print(" ".join(answers))


main()
