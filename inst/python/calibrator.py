from bisect import bisect_left, bisect_right
from math import cosh, exp, inf, log
def lse(x): top = max(x); return top + log(sum(exp(v - top) for v in x))
def softmax(x): total = lse(x); return [exp(v - total) for v in x]
def line(x, y, t, beyond=0): # straight lines between points, a given slope beyond
    i, end = bisect_right(x, t), 0 if t < x[0] else -1
    if i in (0, len(x)): return y[end] + beyond * (t - x[end])
    return y[i-1] + (t - x[i-1]) * (y[i] - y[i-1]) / (x[i] - x[i-1])
def ramp(u): return 0 if u < 0 else u * u / 2 if u < 1 else 1 - (2 - u) ** 2 / 2 if u < 2 else 1
def one_map(f, j, p, s): # one class against the rest: p its probability, s its log-odds
    if "low" in f: return softmax([0, f["slope"][j] * min(max(s if f["log_odds"] else p, f["low"][j]), f["high"][j]) + f["intercept"][j]])[1]
    if "clip" in f: return softmax([0, f["a"][j] * log(max(p, f["clip"])) - f["b"][j] * log(max(1 - p, f["clip"])) + f["c"][j]])[1]
    m = f["maps"][j]
    v = line(m["x"], m["y"], p) if f["shape"] == "lines" else m["y"][bisect_left(m["x"], p)]
    return p if v is None else v / (1 - m["y0"][bisect_right(m["x0"], p)] + v) if "y0" in m else v
def latent(f, k, t, effects): # of class k with score t
    a = f["slope"][k] if isinstance(f["slope"], list) else f["slope"]
    g = line(f["nodes"], f["values"], t, a) if "nodes" in f else a * (log(t) if f["mean"] == "log" else t)
    g += sum(w * exp(-((t - c) / f["lengthscale"]) ** 2 / 2) for c, w in zip(f.get("place", []), f.get("weight", [])))
    return g + sum(b * u for name, x in effects.items() if name in f for b, u in zip(f[name][k], x)) + f.get("offset", {k: 0})[k]
def predict(fit, z): # fit = json.load(open(file)), z = the scores of a row: its calibrated probabilities
    f, logits, K = fit["formula"], fit["input"] == "logits", len(z)
    p = softmax(z) if logits else [min(max(v, 0), 1) for v in z]
    if abs(sum(p) - 1) > 1e-10: total = sum(p); p = [v / total for v in p]
    if fit["method"] == "none": return p
    if "floor" in f: # softmax of latent values
        x = [max(v, f["floor"]) if f["mean"] == "log" else log(max(v, f["floor"])) for v in p] if f["floor"] else z
        if f["center"]: mean = sum(x) / K; x = [t - mean for t in x]
        v, steep = [min(max(t, f["limits"][0]), f["limits"][1]) for t in x] if "limits" in f else x, f.get("steep", 0)
        effects = {"linear": v, "softmax": softmax([steep * t for t in v]), "level": [lse([steep * t for t in v])], "even": [2 * log(cosh(steep * (v[1] - v[0]) / 2))]}
        if "shape" in f: effects["shape"] = [f["every"] * ramp(abs(steep * (v[1] - v[0])) / f["every"] - i) for i in range(len(f["shape"][0]))]
        return softmax([latent(f, k, t, effects) for k, t in enumerate(x)])
    s = [z[k] - lse(z[:k] + z[k+1:]) if logits else log(q / (1 - q)) if 0 < q < 1 else inf * (q - 0.5) for k, q in enumerate(p)]
    v = [one_map(f, j if K > 2 else 0, p[j], s[j]) for j in (range(K) if K > 2 else [1])]
    return [1 - v[0], v[0]] if K == 2 else [t / sum(v) for t in v] if sum(v) > 0 else p
