(() => {
  const at = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // To a post or case, in the middle of the window: bars at the edges hide none of it.
  function goTo(card) {
    card.focus({ preventScroll: true });
    const [text, mark] = [at(".told[tabindex]", card), at(".told[tabindex] mark", card)];
    if (mark) text.scrollTop = mark.offsetTop - text.offsetTop - 40;  // a long post, at the first of its query's words
    card.scrollIntoView({ block: card.offsetHeight < innerHeight - 120 ? "center" : "start" });
  }

  // A part of the page from our own server, where texts are escaped; what was refused comes as plain text.
  function show(into, answer, text) {
    if (answer.ok) into.innerHTML = text;
    else into.replaceChildren(Object.assign(document.createElement("p"), { className: "warning", textContent: text }));
  }

  // A form marked data-live asks for its part of the page as it is changed; the last question wins.
  let [asking, pause] = [null, 0];
  function ask(form) {
    clearTimeout(pause);
    pause = setTimeout(async () => {
      asking?.abort();
      asking = new AbortController();
      const url = `${location.pathname}?${new URLSearchParams([...new FormData(form)].filter(([name]) => !name.startsWith("shown")))}`;
      const into = at("#live");
      into.setAttribute("aria-busy", "true");
      try {
        const answer = await fetch(url, { signal: asking.signal, headers: { "x-part": "live" } });
        show(into, answer, await answer.text());
        history.replaceState(null, "", url);
        into.removeAttribute("aria-busy");
        at(".cli code").textContent = at("[data-cli]", into)?.dataset.cli ?? "";
      } catch (error) { if (error.name !== "AbortError") throw error; }
    }, 140);
  }
  let typed = false;
  document.addEventListener("input", (event) => {
    typed = true;
    const form = event.target.closest("form[data-live]");
    const output = at(`output[for="${CSS.escape(event.target.id)}"]`);
    if (output) output.value = event.target.value;
    if (form) ask(form);
  });

  document.addEventListener("click", async (event) => {
    const pressed = (name) => event.target.closest(`[data-${name}]`);
    if (pressed("put")) {  // a proposal, or the query without a word, goes into the box
      at("#q").value = pressed("put").dataset.put;
      at("#q").focus();
      ask(at("#q").form);
    }
    if (pressed("show")) {
      event.preventDefault();
      at("#show").value = pressed("show").dataset.show;
      ask(at("#show").form);
    } else if (pressed("copy")) {
      await navigator.clipboard.writeText(at(".cli code").textContent);
      pressed("copy").textContent = "Copied";
    }
    if (pressed("print")) print();
    if (pressed("help")) at("#keys").showModal();
    if (pressed("end")) fetch("/end", { method: "POST" });
    if (pressed("close")) at(".work").hidden = true;
  });

  // A form marked data-swap is sent without leaving the page: the answer is its case as it now is. The next case is there at
  // once, and what was pressed is sent one after another. A case that is refused says why, and is gone to at the end.
  let [sending, waiting, refused] = [Promise.resolve(), 0, null];
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-swap]");
    if (!form) return;
    event.preventDefault();
    const card = form.closest(".case");
    const body = new URLSearchParams(new FormData(form, event.submitter));
    card.classList.add("sent");
    const next = all(".case:not(.done, .sent)").find((other) => card.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING);
    if (next) goTo(next);
    else card.blur();
    waiting += 1;
    sending = sending.then(() => decide(form.action, body, card));
  });
  async function decide(action, body, card) {
    const place = document.createElement("div");
    let answer = { ok: false };
    try {
      answer = await fetch(action, { method: "POST", body, headers: { "x-part": "case" } });
      show(place, answer, await answer.text());
    } catch { show(place, answer, "This was not saved: nothing answers. Is `covmis open` still running? Press again."); }
    waiting -= 1;
    card.classList.remove("sent");
    if (answer.ok) {
      at(".cli code").textContent = place.firstElementChild.dataset.cli;
      card.replaceWith(place.firstElementChild);
    } else {
      at(".warning", card)?.remove();
      card.append(...place.children);
      refused ??= card;
    }
    if (waiting) return;
    if (refused) goTo(refused);
    refused = null;
    refresh();
  }
  addEventListener("beforeunload", (event) => { if (waiting) event.preventDefault(); });

  // What a decision changes elsewhere on the page: counts, what is next, whether the round can be sealed.
  let refreshed = 0;
  async function refresh() {
    const own = refreshed += 1;
    const answer = await fetch(location.href);
    if (!answer.ok || own !== refreshed) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = all("[data-fresh]", page);
    if (fresh.length === all("[data-fresh]").length) all("[data-fresh]").forEach((old, place) => old.replaceWith(fresh[place]));
  }

  // Where others work meanwhile, the page follows; not under somebody's hands.
  setInterval(() => {
    if (at("[data-watch]") && !document.hidden && !document.activeElement.closest("[data-fresh]")) refresh().catch(() => {});
  }, 5000);

  // Files that are dropped in, or chosen, go to our server as they are; the answer is the page that shows the last of them.
  async function send(place, files) {
    const said = at("[role=status]", place);
    let page = "";
    for (const file of files) {
      said.textContent = `Copying ${file.name} (${(file.size / 1e6).toLocaleString("en", { maximumFractionDigits: 1 })} MB) …`;
      const answer = await fetch(place.dataset.drop + encodeURIComponent(file.name), { method: "PUT", body: file, headers: { "x-part": "file" } });
      page = await answer.text();
      if (answer.ok) continue;
      said.className = "warning";
      said.textContent = page;
      return;
    }
    if (page) location.assign(page);
  }
  for (const place of all("[data-drop]")) {
    at("input", place).addEventListener("change", (event) => send(place, event.target.files));
    for (const kind of ["dragover", "dragleave", "drop"]) {
      place.addEventListener(kind, (event) => {
        event.preventDefault();
        place.classList.toggle("over", kind === "dragover");
        if (kind === "drop") send(place, event.dataTransfer.files);
      });
    }
  }

  // Keys: j and k go from post to post, a label's key decides, / goes to the search box, ? shows the keys.
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.name === "reason") {  // without this, Enter decides for the first label
      event.preventDefault();
      event.target.closest(".case").focus();
    }
    if (event.target.matches("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    const key = keyOf(event);
    if (key === "/" && at("#q")) {
      event.preventDefault();
      at("#q").focus();
      at("#q").setSelectionRange(at("#q").value.length, at("#q").value.length);
    }
    if (key === "?") at("#keys").showModal();
    const cards = all(".case, .post");
    const now = cards.indexOf(document.activeElement.closest(".case, .post"));
    if ("jk".includes(key) && cards.length) {
      const card = cards[Math.max(0, Math.min(cards.length - 1, now + (key === "j" ? 1 : -1)))];
      card.tabIndex = 0;
      goTo(card);
    }
    if (key === "Backspace" && at(".case")) {  // take the last decision back: decide it again
      const last = all(".case.done").findLast((card) => now < 0 || cards.indexOf(card) < now);
      if (last) {
        at("details", last).open = true;
        goTo(last);
      }
    }
    const decides = (one) => at(`button[data-key="${CSS.escape(one)}"]`, cards[now]);
    if (now >= 0 && !cards[now].matches(".sent")) (decides(event.key) ?? decides(key))?.click();
  });

  // On a phone the places are a row that scrolls: the present one is in view.
  at(".side [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

  // What is at work, as it comes; then the page as it now is, unless something was typed that would be lost.
  const work = at(".work");
  if (work && work.dataset.state === "running") {
    const source = new EventSource("/events");
    const ends = { done: "Done", failed: "Failed", problems: "Done, with problems", ended: "Ended by you; what was whole is kept" };
    source.onmessage = (event) => {
      const job = JSON.parse(event.data);
      const running = job.state === "running";
      const count = job.of > 1 ? `, ${job.done.toLocaleString("en")} of ${job.of.toLocaleString("en")}` : "";
      at(".step", work).textContent = running ? job.step + count : ends[job.state];
      const bar = at("progress", work);
      if (job.of > 1) Object.assign(bar, { max: job.of, value: job.done });
      else bar.removeAttribute("value");
      if (running) return;
      source.close();
      if (!typed) return location.reload();
      work.dataset.state = job.state;
      bar.hidden = at("[data-end]", work).hidden = true;
      at("[data-again]", work).hidden = at("[data-close]", work).hidden = false;
      Object.assign(at("pre", work), { textContent: job.lines.join("\n"), hidden: !job.lines.length });
    };
  }
})();
