# Applies a file of write_calibrator() of the R package gpcalib: predict(json.load(file), row of scores)
from math import exp, log
from bisect import bisect_left, bisect_right
def softmax(z):
    e = [exp(v - max(z)) for v in z]
    return [v / sum(e) for v in e]
def expit(t): return 1 / (1 + exp(-t)) if t > -700 else 0.0
def odds(p, q): return log(p / q) if p > 0 and q > 0 else (1e999 if p > 0 else -1e999)
def one_map(method, f, j, p, s):
    if method == "platt": return expit(f["slope"][j] * min(max(s, f["low"][j]), f["high"][j]) + f["intercept"][j])
    if method == "beta": return expit(f["a"][j] * log(max(p, f["clip"])) - f["b"][j] * log(max(1 - p, f["clip"])) + f["c"][j])
    x, y = f["maps"][j]["x"], f["maps"][j]["y"]
    i, k = bisect_left(x, p), bisect_right(x, p)
    if f["shape"] == "lines": # k points at or below p
        return y[max(k - 1, 0)] if k in (0, len(x)) else y[k-1] + (p - x[k-1]) * (y[k] - y[k-1]) / (x[k] - x[k-1])
    if f["shape"] == "steps": return p if y[i] is None else y[i]
    return y[i] / (1 - f["maps"][j]["y0"][bisect_right(f["maps"][j]["x0"], p)] + y[i])
def process(f, x):
    if f["center"]: x = [v - sum(x) / len(x) for v in x]
    h = [(log(v) if f["mean"] == "log" else f["slope"] * v) + sum(w * exp(-((v - c) / f["lengthscale"]) ** 2 / 2)
         for c, w in zip(f["place"], f["weight"])) for v in x]
    v = [min(max(t, f["limits"][0]), f["limits"][1]) for t in x] if "limits" in f else x
    u, d = softmax([f.get("steep", 0) * t for t in v]), abs(f.get("steep", 0) * (v[1] - v[0]))
    dot = lambda name, k, t: sum(a * b for a, b in zip(f[name][k], t)) if name in f else 0
    return softmax([h[k] + f.get("offset", [0] * len(x))[k] + dot("linear", k, v) + dot("softmax", k, u) +
        f.get("even", [0, 0])[min(k, 1)] * (d + 2 * log(1 + exp(-d)) - 2 * log(2)) for k in range(len(x))])
def predict(fit, z):
    f, logits, method, K = fit["formula"], fit["input"] == "logits", fit["method"], len(z)
    p = softmax(z) if logits else [v / sum(z) for v in z] if abs(sum(z) - 1) > 1e-10 else z
    if method in ("gp", "temperature", "vector", "matrix"):
        x = z if logits and f["floor"] == 0 else [log(max(v, f["floor"])) for v in p]
        if method == "temperature": return softmax([v / f["temperature"] for v in x])
        c = [v - sum(x) / K for v in x]
        if method == "vector": return softmax([a + b * v for a, b, v in zip(f["offset"], f["weights"], c)])
        if method == "matrix": return softmax([a + sum(map(lambda b, v: b * v, w, c)) for a, w in zip(f["offset"], f["weights"])])
        return process(f, [max(v, f["floor"]) for v in p] if f["mean"] == "log" else x)
    if method == "none": return p
    rest = [[v for j, v in enumerate(z) if j != k] for k in range(K)]
    s = [z[k] - max(r) - log(sum(exp(v - max(r)) for v in r)) if logits else odds(p[k], 1 - p[k])
         for k, r in enumerate(rest)] if f.get("log_odds") else p
    v = [one_map(method, f, j, p[-1] if K == 2 else p[j], s[-1] if K == 2 else s[j]) for j in range(1 if K == 2 else K)]
    return [1 - v[0], v[0]] if K == 2 else [t / sum(v) for t in v] if sum(v) > 0 else p
