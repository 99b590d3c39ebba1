"use strict";
(() => {
  const study = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const make = (tag, text, kind) => {
    const made = document.createElement(tag);
    made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  const mine = ["covmis", study.round, study.annotator, ""].join("/");
  const store = mine + (study.items.length ? study.items[0].shown : "");
  const answers = {};
  let place = 0;
  let since = Date.now();

  const say = (text) => { at("message").textContent = text; };
  const answered = () => study.items.filter((item) => answers[item.id] && answers[item.id].label).length;
  const own = (item) => answers[item.id] ||
    (answers[item.id] = { label: "", sub: "", comment: "", seconds: 0, at: "", shown: item.shown });

  function keep() {
    try {
      merge();
      localStorage.setItem(store, JSON.stringify({ answers, place }));
    } catch {
      say("This browser keeps nothing: export before you close the page.");
    }
  }

  // The same page may be open twice, or have been sent again with more posts in another order (then it is kept under
  // another name): of two answers the later counts, and a blank one never.
  function merge() {
    const shown = new Map(study.items.map((item) => [item.id, item.shown]));
    for (const name of Object.keys(localStorage).filter((one) => one.startsWith(mine))) {
      for (const [id, theirs] of Object.entries(JSON.parse(localStorage.getItem(name)).answers)) {
        const ours = answers[id] || { label: "", comment: "", at: "" };
        if (theirs.shown !== shown.get(id)) continue;
        if (theirs.at > ours.at || (theirs.at === ours.at && !ours.label && !ours.comment)) answers[id] = theirs;
      }
    }
  }

  function recall() {
    try {
      merge();
      const kept = JSON.parse(localStorage.getItem(store) || "null");
      if (kept) place = Math.min(kept.place || 0, study.items.length - 1);
    } catch {
      say("This browser keeps nothing: export before you close the page.");
    }
  }

  function tick() {
    const item = study.items[place];
    // A pause is not work: at most two minutes count at a time.
    if (item && !document.hidden) own(item).seconds += Math.min((Date.now() - since) / 1000, 120);
    since = Date.now();
  }

  function show() {
    const item = study.items[place];
    if (!item) { say("There is nothing to label in this round."); return; }
    const answer = own(item);
    at("parts").replaceChildren(...item.parts.map(([heading, text], index) => {
      const part = make("section", "", "part " + (index === 0 ? "claim" : index === 1 ? "post" : "beside"));
      const words = make("p", text, "outside");
      words.dir = "auto";
      part.append(make("h2", heading), words);
      return part;
    }));
    at("comment").value = answer.comment;
    choices(answer);
    at("place").textContent = `${place + 1} of ${study.items.length}`;
    at("answered").textContent = `${answered()} answered`;
    at("bar").setAttribute("aria-valuenow", answered());
    at("fill").style.width = `${100 * answered() / study.items.length}%`;
  }

  function button(text, key, pressed, act, kind) {
    const made = make("button", text, kind);
    made.type = "button";
    if (key) made.append(make("kbd", key));
    made.setAttribute("aria-pressed", String(pressed));
    made.addEventListener("click", act);
    return made;
  }

  function choices(answer) {
    const all = [...study.labels.map((one) => [one.label, one.key, ""]), ["skip", "0", "quiet"]];
    at("choices").replaceChildren(...all.map(([label, key, kind]) =>
      button(label, key, answer.label === label, () => choose(label), kind)));
    const chosen = study.labels.find((one) => one.label === answer.label);
    const subs = chosen ? chosen.subs : [];
    at("subs").hidden = !subs.length;
    at("subs").replaceChildren(...subs.map((sub) =>
      button(sub, "", answer.sub === sub, () => { tick(); answer.sub = answer.sub === sub ? "" : sub; keep(); show(); })));
  }

  function choose(label) {
    tick();
    const answer = own(study.items[place]);
    if (answer.label !== label) answer.sub = "";
    answer.label = label;
    answer.at = new Date().toISOString();
    keep();
    show();
    say(answered() === study.items.length ? "All answered. Press Export and send the file." : "");
  }

  function go(to) {
    tick();
    place = Math.max(0, Math.min(study.items.length - 1, to));
    keep();
    show();
    window.scrollTo(0, 0);
  }

  function open() {
    const order = [...study.items.keys()];
    const found = [...order.slice(place + 1), ...order.slice(0, place + 1)]
      .find((one) => !(answers[study.items[one].id] || {}).label);
    if (found === undefined) say("All answered. Press Export and send the file."); else go(found);
  }

  function exported() {
    return {
      format: study.format, round: study.round, annotator: study.annotator,
      answers: study.items.filter((item) => answers[item.id] && (answers[item.id].label || answers[item.id].comment))
        .map((item) => {
          const { label, sub, comment, seconds, at: given, shown } = answers[item.id];
          return { id: item.id, label, sub, comment, seconds: Math.round(10 * seconds) / 10, at: given, shown };
        }),
    };
  }

  function save() {
    tick();
    keep();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(exported(), null, 1)], { type: "application/json" }));
    link.download = study.file;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    say(`${answered()} of ${study.items.length} answers exported as ${link.download}.`);
  }

  async function load(file) {
    try {
      const data = JSON.parse(await file.text());
      if (data.format !== study.format || data.round !== study.round || data.annotator !== study.annotator) {
        say("That file is of another round or another annotator.");
        return;
      }
      const known = new Map(study.items.map((item) => [item.id, item.shown]));
      const fitting = data.answers.filter((one) => known.get(one.id) === one.shown);
      // An older export takes nothing back: of two answers the later counts, as between two open pages.
      const newer = fitting.filter((one) => !answers[one.id] || !answers[one.id].label || one.at > answers[one.id].at);
      for (const { id, label, sub, comment, seconds, at: given, shown } of newer) {
        answers[id] = { label, sub, comment, seconds: Number(seconds) || 0, at: given, shown };
      }
      keep();
      show();
      const kept = fitting.length - newer.length;
      say(`Answers loaded: ${newer.length}.` + (kept ? ` As new or newer here, and kept: ${kept}.` : ""));
    } catch {
      say("That file cannot be read.");
    }
  }

  document.addEventListener("keydown", (event) => {
    const writing = event.target === at("comment");
    if (event.key === "Escape" || (writing && event.key === "Enter" && (event.ctrlKey || event.metaKey))) {
      at("comment").blur();
      return;
    }
    if (writing || event.ctrlKey || event.metaKey || event.altKey || !study.items.length) return;
    const label = study.labels.find((one) => one.key === event.key);
    const acts = {
      Enter: () => go(place + 1), ArrowRight: () => go(place + 1), ArrowLeft: () => go(place - 1),
      n: open, e: save, c: () => at("comment").focus(), 0: () => choose("skip"),
    };
    const act = label ? () => choose(label.label) : acts[event.key];
    if (act && !(event.key === "Enter" && event.target.tagName === "BUTTON" && event.target.id !== "next")) {
      event.preventDefault();
      act();
    }
  });
  at("comment").addEventListener("input", () => { own(study.items[place]).comment = at("comment").value; keep(); });
  at("back").addEventListener("click", () => go(place - 1));
  at("next").addEventListener("click", () => go(place + 1));
  at("open").addEventListener("click", open);
  at("export").addEventListener("click", save);
  at("load").addEventListener("change", (event) => { if (event.target.files[0]) load(event.target.files[0]); });
  document.addEventListener("visibilitychange", () => { if (document.hidden) { tick(); keep(); } else { since = Date.now(); keep(); show(); } });
  recall();
  show();
})();
