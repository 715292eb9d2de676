// The search box. `siteIndex` comes from search.js: one entry for each section of each page. All words have
// to occur; names of functions count most, then titles, headings and text.
(function () {
  const input = document.getElementById("search-input");
  if (!input || !window.siteIndex) return;

  const root = input.dataset.searchIndex.replace(/search\.json$/, "");
  const results = document.createElement("div");
  results.id = "search-results";
  results.className = "list-group shadow";
  results.hidden = true;
  input.form.append(results);
  input.form.addEventListener("submit", (event) => {
    event.preventDefault();
    const first = results.querySelector("a");
    if (first) first.click();
  });

  function score(entry, words) {
    let sum = 0;
    for (const word of words) {
      if (entry.functions.includes(word.replace(/\(.*$/, ""))) sum += 8;
      else if (entry.title.toLowerCase().includes(word)) sum += 4;
      else if (entry.what.toLowerCase().includes(word)) sum += 2;
      else if (entry.text.toLowerCase().includes(word)) sum += 1;
      else return 0;
    }
    return sum;
  }

  // At most three sections of a page, so that other pages are seen.
  function fewOfAPage() {
    const seen = new Map();
    return ({ entry }) => {
      const page = entry.path.replace(/#.*$/, "");
      seen.set(page, (seen.get(page) || 0) + 1);
      return seen.get(page) <= 3;
    };
  }

  function show() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    results.replaceChildren();
    results.hidden = input.value.trim().length < 2;
    if (results.hidden) return;
    const found = window.siteIndex
      .map((entry) => ({ entry, score: score(entry, words) }))
      .filter((x) => x.score > 0)
      .sort((a, b) => b.score - a.score)
      .filter(fewOfAPage())
      .slice(0, 12);
    for (const { entry } of found) {
      const link = document.createElement("a");
      link.className = "list-group-item list-group-item-action py-1";
      link.href = root + entry.path;
      const title = document.createElement("strong");
      title.textContent = entry.title;
      link.append(title, entry.what && entry.what !== entry.title ? " — " + entry.what : "");
      results.append(link);
    }
    if (!found.length) {
      const none = document.createElement("span");
      none.className = "list-group-item py-1";
      none.textContent = "Nothing found.";
      results.append(none);
    }
  }

  input.addEventListener("input", show);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { input.value = ""; show(); }
  });
  document.addEventListener("click", (event) => {
    if (!input.form.contains(event.target)) results.hidden = true;
  });
})();
