#!/usr/bin/env python3
"""tests/end-to-end/profile_look.py QUESTION... - of what `hark show --json`
writes: one line, an answer for each question.

    between NAME LOW HIGH  yes, if the share of the samples with NAME on their
                           stack is; else the share
    share NAME P           yes, if that share is P, as nearly as so many samples
                           can tell: five standard deviations; else the share,
                           and of how many
    lasts NAME NS LOW HIGH
                           yes, if what has NAME on its stack is, in time, LOW to
                           HIGH times so much; else how many times
    outermost MODULE LOW HIGH
                           yes, if the share of the samples whose outermost frame
                           is in MODULE is; else the share
    deep NAME              the most times that NAME stands on one stack
    samples LOW HIGH       yes, if there are so many; else how many
    weight LOW HIGH        the same of what they stand for
    threads, processes, lost, complete, status: the number
"""
import json
import math
import sys


def total(page, name):
    return max((f["total"] for f in page["functions"] if f["name"] == name),
               default=0)


def between(value, low, high):
    return "yes" if float(low) <= value <= float(high) else f"{value:.3f}"


def share(page, name):
    return total(page, name) / max(page["weight"], 1)


def as_expected(page, name, p):
    n = max(page["samples"], 1)
    have, room = share(page, name), 5 * math.sqrt(p * (1 - p) / n)
    return "yes" if abs(have - p) <= room else f"{have:.3f} of {n}"


def main():
    words = sys.argv[1:]
    page = json.load(sys.stdin)
    answers = []
    while words:
        word = words.pop(0)
        if word == "between":
            name, low, high = words[:3]
            del words[:3]
            answers.append(between(share(page, name), low, high))
        elif word == "share":
            answers.append(as_expected(page, words.pop(0),
                                       float(words.pop(0))))
        elif word == "lasts":
            name, ns, low, high = words[:4]
            del words[:4]
            a_weight = 1 if page["unit"] == "ns" else page["period_ns"]
            lasted = total(page, name) * a_weight / float(ns)
            answers.append(between(lasted, low, high))
        elif word == "outermost":
            module, low, high = words[:3]
            del words[:3]
            roots = sum(c["total"] for c in page["calls"]
                        if c["parent"] == 0 and c["module"] == module)
            answers.append(between(roots / max(page["weight"], 1), low, high))
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
