(() => {
  const study = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  // A message in the study's language; its English words are what it is looked up by, and what is shown without a translation.
  const t = (text, values = {}) => (study.words[text] || text).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
  const counted = (count, one, several, values = {}) => t(count === 1 ? one : several, { count, ...values });
  const make = (tag, text, kind) => {
    const made = document.createElement(tag);
    made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  const mine = ["covmis", study.round, study.annotator, ""].join("/");
  const store = mine + (study.items.length ? study.items[0].shown : "");
  const shownOf = new Map(study.items.map((item) => [item.id, item.shown]));
  const FIELDS = { label: "", sub: "", comment: "", flag: false };
  const OFTEN = 50; // answers after which an export is offered
  const PAUSE = 5 * 60000; // a pause, after which an export is offered
  const turns = []; // at each post, how many claims have begun; where they are mixed it says nothing
  for (const [index, { parts: [[, text]] }] of study.items.entries()) {
    const before = index && study.items[index - 1].parts[0][1] === text;
    turns.push((turns.at(-1) || 0) + (before ? 0 : 1));
  }
  const answers = {};
  const done = []; // what Backspace takes back: [id, the fields before]
  let place = 0;
  let claim = "";
  let since = performance.now();
  let movedAt = -1000;
  let exported = study.save ? "9" : setting("exported", ""); // what the study keeps needs no export
  let offeredAt = -PAUSE;
  let pane = "";
  let filter = "all";

  // --- answers: each field has its own time, so that two windows, or two computers, lose nothing of each other ---

  const item = () => study.items[place];
  const blank = (id) => ({ ...FIELDS, seconds: 0, times: {}, shown: shownOf.get(id) });
  const own = (id) => answers[id] || (answers[id] = blank(id));
  const labelled = (one) => Boolean(answers[one.id] && answers[one.id].label);
  const answered = () => study.items.filter(labelled).length;
  const timeOf = (answer) => Object.values(answer.times).sort().pop() || "";
  const unexported = () => Object.values(answers).filter((one) => timeOf(one) > exported).length;

  function change(id, fields) {
    const answer = own(id);
    for (const [name, value] of Object.entries(fields)) {
      if (answer[name] === value) continue;
      // Later than what it replaces, also where the clock was put back in between.
      const before = Date.parse(answer.times[name]) || 0;
      answer[name] = value;
      answer.times[name] = new Date(Math.max(Date.now(), before + 1)).toISOString();
    }
    keep(id);
  }

  // Of each field the later value counts; of equally old ones the one that says something. Older pages had one time.
  function merge(id, theirs) {
    if (!theirs || theirs.shown !== shownOf.get(id)) return 0;
    const ours = own(id);
    let newer = 0;
    for (const name of Object.keys(FIELDS)) {
      const value = typeof theirs[name] === typeof FIELDS[name] ? theirs[name] : FIELDS[name];
      const when = theirs.times ? theirs.times[name] || "" : value ? theirs.at || "" : "";
      const before = ours.times[name] || "";
      if (when > before || (when === before && value && !ours[name])) {
        if (ours[name] !== value) newer = 1;
        ours[name] = value;
        if (when) ours.times[name] = when;
      }
    }
    ours.seconds = Math.max(ours.seconds, Number(theirs.seconds) || 0);
    return newer;
  }

  // --- keeping them: on the disk before the next post is reached; if that fails, said until it is mended ---

  const channel = "BroadcastChannel" in window ? new BroadcastChannel(mine) : null;
  const waiting = new Set(); // what is to be written
  const failed = new Set(); // what could not be
  let base = null;
  let reason = ""; // why the last could not be
  let saving = Promise.resolve();

  function setting(name, otherwise) {
    try { return localStorage.getItem(`covmis settings/${store}/${name}`) || otherwise; } catch { return otherwise; }
  }

  function set(name, value) {
    try { localStorage.setItem(`covmis settings/${store}/${name}`, value); } catch { /* only convenience is lost */ }
  }

  const asked = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

  async function openBase() {
    const request = indexedDB.open("covmis", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("answers");
    base = await asked(request);
  }

  // Served, the page sends what changed to the study; this browser keeps it until the study has it.
  const PART = 50; // answers in one request
  const PATIENCE = 20000; // for an answer of the server
  const refusals = new Map(); // what the study does not take, with the reason
  let unkept = false; // whether this browser could not keep what waits
  let pauseBefore = 2000; // before the next try without a connection
  let retry = 0;
  let offline = false;

  async function send(ids) {
    const rows = contents().answers.filter((one) => ids.has(one.id));
    for (let start = 0; start < rows.length; start += PART) {
      const part = rows.slice(start, start + PART);
      const body = JSON.stringify({ answers: part });
      const answer = await fetch(study.save, { method: "POST", body, keepalive: body.length < 60000, headers: { "x-part": "answers" }, signal: AbortSignal.timeout(PATIENCE) });
      if (!answer.ok) throw Object.assign(new Error(await answer.text()), { answered: true, final: answer.status < 500 && ![408, 429].includes(answer.status) });
      const { later, refused } = await answer.json();
      for (const { id } of part) { ids.delete(id); failed.delete(id); refusals.delete(id); }
      for (const [id, why] of Object.entries(refused)) refusals.set(id, why);
      await forget(part.filter(({ id, at: when }) => !refusals.has(id) && timeOf(answers[id]) === when).map(({ id }) => id));
      if (later.filter((one) => merge(one.id, one)).length) { show(); say(t("You gave a later answer elsewhere, in another window, device or sheet: it counts, and is shown.")); }
    }
  }

  async function deal(act) {
    if (!base) await openBase();
    await new Promise((resolve, reject) => {
      const own = base.transaction("answers", "readwrite", { durability: "strict" });
      act(own.objectStore("answers"));
      own.oncomplete = resolve;
      own.onabort = own.onerror = () => reject(own.error);
    });
  }

  const keyOfItem = (id) => mine + shownOf.get(id);

  const keepHere = (ids) => deal((kept) => {
    for (const id of ids) {
      const reading = kept.get(keyOfItem(id));
      reading.onsuccess = () => { merge(id, reading.result); kept.put(answers[id], keyOfItem(id)); };
    }
  });

  async function forget(ids) {
    try {
      await deal((kept) => { for (const id of ids) kept.delete(keyOfItem(id)); });
      if (!failed.size && !refusals.size) localStorage.removeItem(store);
    } catch { /* sent again when the page is opened the next time: the study knows it */ }
  }

  // In this browser: its database, or where that fails its simple storage.
  async function write(ids) {
    try {
      await keepHere(ids);
    } catch (error) {
      try { localStorage.setItem(store, JSON.stringify({ answers })); } catch { throw error; }
    }
  }

  function keep(id) {
    waiting.add(id);
    document.body.dataset.saved = "no";
    if (channel) channel.postMessage({ id, answer: answers[id] });
    settle();
  }

  function settle() {
    clearTimeout(retry);
    saving = saving.then(async () => {
      const ids = new Set([...failed, ...waiting]);
      if (!ids.size) return;
      waiting.clear(); // what changes while it is written is written again
      try {
        unkept = false;
        await write(ids).catch((error) => { unkept = true; if (!study.save) throw error; });
        if (study.save) await send(ids);
        failed.clear();
        [offline, pauseBefore] = [false, 2000];
      } catch (error) {
        for (const one of ids) failed.add(one);
        offline = Boolean(study.save && !error.final);
        reason = offline && !error.answered ? t("No connection") : error.message;
        if (offline) {
          retry = setTimeout(settle, pauseBefore);
          pauseBefore = Math.min(2 * pauseBefore, 30000);
        }
      }
      trouble();
    });
  }

  function trouble() {
    const lost = new Set([...failed, ...refusals.keys()]);
    document.body.dataset.saved = lost.size || waiting.size ? "no" : "yes";
    at("trouble").hidden = !lost.size;
    at("lost").textContent = study.save ? served(lost.size) : [
      counted(lost.size, "1 answer is not saved in this browser.", "{count} answers are not saved in this browser."),
      t("Its storage is full or switched off. Export now, and do not close this page. Then free some disk space or allow storage for this file, and try again."),
    ].join(" ");
  }

  function served(many) {
    const kept = unkept ? t("Do not close this page: this browser keeps no answers.") : t("They are kept in this browser.");
    if (offline) {
      const waits = counted(many, "{reason}: 1 answer waits here, to be sent as soon as possible. You can go on.", "{reason}: {count} answers wait here, to be sent as soon as possible. You can go on.", { reason });
      return `${waits} ${kept}`;
    }
    const why = refusals.size && !failed.size ? [...new Set(refusals.values())].join("; ") : reason;
    const without = counted(many, "1 answer is not in the study: {reason}.", "{count} answers are not in the study: {reason}.", { reason: why });
    return [without, kept, t("If trying again does not help, export them and send the file to the person who leads the study.")].join(" ");
  }

  function again() {
    for (const id of refusals.keys()) failed.add(id);
    settle();
  }
  window.addEventListener("online", settle);

  async function recall() {
    const newer = new Set(); // kept here, and not in the study yet
    const take = (id, theirs) => { if (merge(id, theirs) && study.save) newer.add(id); };
    for (const one of study.items) if (one.given) merge(one.id, one.given);
    let names = [];
    try { names = Object.keys(localStorage).filter((one) => one.startsWith(mine)); } catch { /* storage is switched off */ }
    for (const name of names) {
      try {
        for (const [id, theirs] of Object.entries(JSON.parse(localStorage.getItem(name)).answers)) take(id, theirs);
      } catch { /* not ours */ }
    }
    try {
      if (!base) await openBase();
      const kept = await asked(base.transaction("answers").objectStore("answers").getAll(IDBKeyRange.bound(mine, mine + "\uffff")));
      const idOf = new Map(study.items.map((one) => [one.shown, one.id]));
      for (const theirs of kept) if (idOf.has(theirs.shown)) take(idOf.get(theirs.shown), theirs);
    } catch { /* said with the first answer that cannot be kept */ }
    for (const id of newer) keep(id);
    return newer.size;
  }

  // --- the page ---

  const say = (text) => { at("message").textContent = text; };

  function tick() {
    // A pause is not work: at most two minutes count at a time.
    if (item() && !document.hidden) own(item().id).seconds += Math.min((performance.now() - since) / 1000, 120);
    if (performance.now() - since > PAUSE) offer();
    since = performance.now();
  }

  function show() {
    const one = item();
    if (!one) { say(t("There is nothing to label in this round.")); return; }
    const text = one.parts[0][1];
    const changed = text !== claim && study.items.length > 1;
    if (at("parts").dataset.id !== one.id) {
      at("parts").dataset.id = one.id;
      at("parts").replaceChildren(...one.parts.map(([heading, words, dir], index) => {
        const kind = { 0: "claim", 1: "post" }[index] || "context " + heading.toLowerCase().replaceAll(" ", "-");
        const part = make("section", "", "part " + kind);
        const title = make("h2", t(heading));
        if (!index && changed) { title.append(make("span", t("New claim"), "new")); part.classList.add("changed"); }
        if (heading === "Link") part.append(title, ...words.split("\n").map((one) => line(one, dir)));
        else part.append(title, line(heading === "Date" ? dateOf(words) : words, dir));
        return part;
      }));
      claim = text;
    }
    buttons();
    progress();
    if (pane === "list") list();
  }

  // A post's day as this language writes it; in English as the study writes it.
  function dateOf(day) {
    if (study.language === "en") return day;
    const parts = { dateStyle: "long", timeZone: "UTC", numberingSystem: "latn", calendar: "gregory" };
    try { return new Intl.DateTimeFormat(study.language, parts).format(new Date(day)); } catch { return day; }
  }

  function line(text, dir) {
    const address = /^https?:\/\//.test(text);
    return Object.assign(make("p", text, "outside" + (address ? " address" : "")), { dir: address ? "ltr" : dir });
  }

  function button(text, key, pressed, act, kind) {
    const made = make("button", text, kind);
    made.type = "button";
    if (key) made.dataset.key = key;
    made.setAttribute("aria-pressed", String(pressed));
    made.addEventListener("click", act);
    return made;
  }

  const INSTEAD = { "skip": ["0", t("skip")], "unclear claim": ["9", t("unclear claim")] }; // of a label: key, words
  const keyInstead = (words) => study.labels.some((one) => one.key === INSTEAD[words][0]) ? "" : INSTEAD[words][0];
  const subKeys = [..."asdhjkrtyuiopqwxzvbm"].filter((one) => !study.labels.some((label) => label.key === one));

  function buttons() {
    const answer = own(item().id);
    const all = [...study.labels.map((one) => [one.label, one.key, ""]), ...study.instead.map((words) => [words, keyInstead(words), "quiet"])];
    at("choices").replaceChildren(...all.map(([label, key, kind]) =>
      button(named(label), key, answer.label === label, () => choose(label), kind)));
    const subs = subsOf(answer.label);
    at("subs").hidden = !subs.length;
    at("subs").replaceChildren(...subs.map((sub, index) =>
      button(sub, subKeys[index], answer.sub === sub, () => refine(sub))));
    at("flag").setAttribute("aria-pressed", String(answer.flag));
    if (document.activeElement !== at("comment")) at("comment").value = answer.comment;
    const writing = document.activeElement === at("comment") || Boolean(answer.comment);
    at("remark").hidden = !writing;
    at("write").setAttribute("aria-pressed", String(writing));
  }

  const named = (label) => study.instead.includes(label) ? INSTEAD[label][1] : label; // labels are the study's own words

  const subsOf = (label) => (study.labels.find((one) => one.label === label) || { subs: [] }).subs;

  function progress() {
    const count = answered();
    const left = study.items.length - count;
    const times = Object.values(answers).filter((one) => one.label && one.seconds > 0).map((one) => one.seconds);
    const pace = times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
    const turn = { post: place + 1, posts: study.items.length, claim: turns[place], claims: turns.at(-1) };
    at("place").textContent = turns.at(-1) > 1 && turns.at(-1) < study.items.length / 2 ? t("Post {post} of {posts}, claim {claim} of {claims}", turn) : t("Post {post} of {posts}", turn);
    at("answered").textContent = t("{count} answered", { count });
    at("pace").textContent = pace && left && count > 4 ? t("{seconds} s a post, {time} left", { seconds: Math.round(pace), time: duration(left * pace) }) : "";
    at("bar").setAttribute("aria-valuenow", count);
    at("fill").style.width = `${100 * count / study.items.length}%`;
    const open = unexported();
    at("end").hidden = left > 0 || !(open || study.save);
    document.body.classList.toggle("finished", !at("end").hidden);
  }

  const duration = (seconds) => seconds < 5400 ? t("{count} min", { count: Math.max(1, Math.round(seconds / 60)) }) : t("{count} h", { count: (seconds / 3600).toFixed(1) });

  function choose(label) {
    tick();
    const { id } = item();
    const { label: before, sub, flag, comment } = own(id);
    done.push([id, { label: before, sub, flag, comment }]);
    change(id, before === label ? { label } : { label, sub: "" });
    const count = answered();
    if (count % OFTEN === 0 && unexported() >= OFTEN) offer();
    if (at("onwards").checked && !(subsOf(label).length && !own(id).sub)) onwards(); else { show(); said(label); }
  }

  function refine(sub) {
    tick();
    const { id } = item();
    const { label, sub: before, flag, comment } = own(id);
    done.push([id, { label, sub: before, flag, comment }]);
    change(id, { sub: before === sub ? "" : sub });
    if (at("onwards").checked && before !== sub) onwards(); else show();
  }

  const said = (label) => say(answered() === study.items.length ? t("All posts have a label.") : t("Previous post: {label}. Backspace takes it back.", { label: named(label) }));

  function onwards() {
    const label = own(item().id).label;
    const next = nextOpen();
    if (next === undefined) show(); else go(next);
    movedAt = performance.now();
    said(label);
  }

  function undo() {
    const last = done.pop();
    if (!last) { say(t("There is nothing to take back.")); return; }
    const [id, fields] = last;
    change(id, fields);
    go(study.items.findIndex((one) => one.id === id));
    say(t("Taken back."));
  }

  function flag() {
    const { id } = item();
    const { label, sub, flag: before, comment } = own(id);
    done.push([id, { label, sub, flag: before, comment }]);
    change(id, { flag: !before });
    show();
    say(before ? t("Not flagged any more.") : t("Flagged: the list shows it, and its comment begins with “flagged”."));
  }

  function write_() {
    at("remark").hidden = false;
    at("comment").focus();
  }

  function go(to) {
    tick();
    place = Math.max(0, Math.min(study.items.length - 1, to));
    show();
    say("");
    window.scrollTo(0, 0);
  }

  // Whoever is used to pressing Enter after a label has not seen the post to which the label has led.
  const next = () => { if (performance.now() - movedAt > 300) go(place + 1); };

  function nextOpen() {
    const order = [...study.items.keys()];
    return [...order.slice(place + 1), ...order.slice(0, place + 1)].find((one) => !labelled(study.items[one]));
  }

  function open() {
    const found = nextOpen();
    if (found === undefined) said(""); else if (performance.now() - movedAt > 300 || labelled(item())) go(found);
  }

  // --- the pane beside the posts: the guideline, or the list of all posts ---

  function toggle(name) {
    pane = pane === name ? "" : name;
    for (const one of ["guideline", "list"]) {
      at(one).hidden = pane !== one;
      at(`show-${one}`).setAttribute("aria-expanded", String(pane === one));
    }
    document.body.classList.toggle("beside", Boolean(pane));
    if (pane === "list") list();
    if (pane && window.innerWidth < 900) at(pane).querySelector("button").focus();
  }

  const FILTERS = {
    all: [t("all"), () => true],
    open: [t("open"), (one) => !labelled(one)],
    flagged: [t("flagged"), (one) => (answers[one.id] || FIELDS).flag],
    commented: [t("commented"), (one) => Boolean((answers[one.id] || FIELDS).comment)],
  };

  function list() {
    at("filters").replaceChildren(...Object.entries(FILTERS).map(([name, [title, fits]]) =>
      button(`${title} (${study.items.filter(fits).length})`, "", filter === name, () => { filter = name; list(); })));
    at("rows").replaceChildren(...study.items.flatMap((one, index) => {
      if (!FILTERS[filter][1](one)) return [];
      const answer = answers[one.id] || FIELDS;
      const marks = [named(answer.label) || t("open"), answer.sub, answer.flag ? t("flagged") : "", answer.comment && t("commented")];
      const row = button("", "", false, () => { if (window.innerWidth < 900) toggle("list"); go(index); });
      row.removeAttribute("aria-pressed");
      if (index === place) row.setAttribute("aria-current", "true");
      const [, text, dir] = one.parts[1];
      const start = Object.assign(make("span", text.slice(0, 90), "start outside"), { dir });
      row.append(make("span", `${index + 1}. ${marks.filter(Boolean).join(", ")}`, "marks"), start);
      const entry = make("li", "");
      entry.append(row);
      return [entry];
    }));
  }

  // --- export and import ---

  function offer() {
    if (!unexported() || performance.now() - offeredAt < 60000) return;
    offeredAt = performance.now();
    at("offered").textContent = counted(unexported(), "1 answer is in this browser alone.", "{count} answers are in this browser alone.");
    at("offer").hidden = false;
  }

  function contents() {
    return {
      format: study.format, round: study.round, annotator: study.annotator,
      answers: study.items.filter((one) => answers[one.id] && timeOf(answers[one.id])).map((one) => {
        const { label, sub, comment, flag: flagged, seconds, times, shown } = answers[one.id];
        return { id: one.id, label, sub, comment, flag: flagged, seconds: Math.round(10 * seconds) / 10, at: timeOf(answers[one.id]), times, shown };
      }),
    };
  }

  function save() {
    tick();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(contents(), null, 1)], { type: "application/json" }));
    link.download = study.file;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    exported = contents().answers.reduce((last, one) => one.at > last ? one.at : last, new Date().toISOString());
    set("exported", exported);
    at("offer").hidden = true;
    show();
    const without = contents().answers.filter((one) => !one.label && (one.comment || one.flag)).length;
    const sent = t("{count} of {posts} answers exported as {file}. Send that file.", { count: answered(), posts: study.items.length, file: link.download });
    say(sent + (without ? ` ${t("{count} with a comment or a flag have no label yet.", { count: without })}` : ""));
  }

  async function load(file) {
    try {
      const data = JSON.parse(await file.text());
      if (data.format !== study.format || data.round !== study.round || data.annotator !== study.annotator) {
        say(t("That file is of another round or another annotator."));
        return;
      }
      const fitting = data.answers.filter((one) => shownOf.get(one.id) === one.shown);
      const newer = fitting.filter((one) => merge(one.id, one));
      for (const one of newer) keep(one.id);
      show();
      const kept = fitting.length - newer.length;
      say(t("Answers loaded: {count}.", { count: newer.length }) + (kept ? ` ${t("As new or newer here, and kept: {count}.", { count: kept })}` : ""));
    } catch {
      say(t("That file cannot be read."));
    }
  }

  // --- keys ---

  const [backwards, forwards] = document.dir === "rtl" ? ["ArrowRight", "ArrowLeft"] : ["ArrowLeft", "ArrowRight"];
  document.addEventListener("keydown", (event) => {
    const writing = event.target === at("comment");
    if (event.key === "Escape" || (writing && event.key === "Enter" && !event.shiftKey)) {
      if (writing) { at("comment").blur(); buttons(); event.preventDefault(); } else if (pane) toggle(pane);
      return;
    }
    if (writing || event.ctrlKey || event.metaKey || event.altKey || event.repeat || !study.items.length) return;
    if (event.target.type === "checkbox" && event.key === " ") return;
    const key = study.labels.some((one) => one.key === event.key) ? event.key : keyOf(event);
    const label = study.labels.find((one) => one.key === key);
    const sub = subsOf(own(item().id).label)[subKeys.indexOf(key)];
    const instead = study.instead.find((words) => keyInstead(words) === key);
    const acts = {
      Enter: next, [forwards]: next, [backwards]: () => go(place - 1), Backspace: undo,
      j: next, k: () => go(place - 1), n: open, e: study.save ? undefined : save, c: write_, f: flag, g: () => toggle("guideline"), l: () => toggle("list"),
    };
    const act = label ? () => choose(label.label) : instead ? () => choose(instead) : sub ? () => refine(sub) : acts[key];
    const pressed = event.target.closest("button");
    if (act && !(event.key === "Enter" && pressed && pressed.id !== "next" && !pressed.closest("#choices, #subs"))) {
      event.preventDefault();
      act();
    }
  });
  const clicks = {
    back: () => go(place - 1), next: () => go(place + 1), open, undo, flag, write: write_, export: save, "export-now": save, "export-end": save,
    "export-lost": save, "show-guideline": () => toggle("guideline"), "show-list": () => toggle("list"), "close-guideline": () => toggle("guideline"),
    "close-list": () => toggle("list"), later: () => { at("offer").hidden = true; }, again,
  };
  for (const [id, act] of Object.entries(clicks)) at(id).addEventListener("click", act);
  for (const [id, key] of Object.entries({ "show-guideline": "g", "show-list": "l", export: "e", flag: "f", write: "c", open: "n" })) {
    if (!study.labels.some((one) => one.key === key)) at(id).dataset.key = key;
  }
  at("comment").addEventListener("input", () => change(item().id, { comment: at("comment").value }));
  at("comment").addEventListener("blur", () => { if (item()) show(); });
  at("load").addEventListener("change", (event) => { if (event.target.files[0]) load(event.target.files[0]); });
  at("onwards").checked = setting("onwards", "yes") === "yes";
  at("onwards").addEventListener("change", () => set("onwards", at("onwards").checked ? "yes" : "no"));
  document.addEventListener("visibilitychange", async () => {
    if (document.hidden) { tick(); return; }
    if (performance.now() - since > PAUSE) offer();
    since = performance.now();
    await recall();
    show();
  });
  if (channel) channel.addEventListener("message", ({ data }) => { merge(data.id, data.answer); show(); });
  window.addEventListener("beforeunload", (event) => {
    const safe = study.save && !unkept && !waiting.size; // this browser keeps it, and sends it the next time
    if ((document.body.dataset.saved === "no" && !safe) || (!study.save && !at("end").hidden)) event.preventDefault();
  });
  recall().then((toSend) => {
    const first = study.items.findIndex((one) => !labelled(one));
    place = Math.max(0, first);
    since = performance.now();
    if (!toSend) document.body.dataset.saved = "yes";
    show();
    const elsewhere = study.items.filter(({ given }) => given && given.channel && given.channel !== "html").length;
    if (elsewhere) say(counted(elsewhere, "1 answer that you gave elsewhere, as in a sheet, is shown. What you change here counts instead.", "{count} answers that you gave elsewhere, as in a sheet, are shown. What you change here counts instead."));
  });
})();
