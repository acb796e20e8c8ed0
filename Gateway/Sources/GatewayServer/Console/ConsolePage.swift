/// The console: a self-contained page that polls `/console/state` once a second.
enum ConsolePage {
    /// The page.
    static let html = """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>Gateway</title>
        <style>\(style)</style>
        </head>
        <body>
        <header><h1>Gateway</h1><p id="summary" role="status">Not connected</p></header>
        <form id="entry"><label for="token">Operator token</label>
        <input id="token" type="password" autocomplete="off" required><button>Show</button></form>
        <main id="view" hidden>
        <section aria-labelledby="h-tenants"><h2 id="h-tenants">Tenants</h2><div id="tenants" class="cards"></div></section>
        <section id="moving" aria-labelledby="h-moves" hidden><h2 id="h-moves">Moves</h2><div id="moves"></div></section>
        <section aria-labelledby="h-requests"><h2 id="h-requests">Requests</h2>
        <table><thead><tr><th>Tenant</th><th>Route</th><th>Status</th><th class="n">per second</th><th class="n">total</th></tr>
        </thead><tbody id="requests"></tbody></table></section>
        <section aria-labelledby="h-messages"><h2 id="h-messages">Latest warnings and errors</h2>
        <ul id="messages"></ul></section>
        </main>
        <script>\(script)</script>
        </body>
        </html>

        """

    private static let style = """
        :root { color-scheme: light dark; --page: #f6f7f9; --card: #fff; --text: #1b1f24; --dim: #5b6470; --line: #d9dee4;
          --good: #12713a; --bad: #b3261e; --odd: #8a5a00; }
        @media (prefers-color-scheme: dark) { :root { --page: #14171b; --card: #1d2126; --text: #e8eaed; --dim: #9aa4b0;
          --line: #333a42; --good: #5fd08a; --bad: #ff8a80; --odd: #f0b95a; } }
        * { box-sizing: border-box; } [hidden] { display: none !important; }
        body { margin: 0 auto; max-width: 70rem; padding: 1.5rem; background: var(--page); color: var(--text);
          font: 15px/1.45 system-ui, sans-serif; }
        header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 1rem; }
        h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.05rem; margin: 1.75rem 0 .5rem; }
        #summary { margin: 0; color: var(--dim); }
        form { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin-top: 1.25rem; }
        input, button { font: inherit; padding: .4rem .7rem; border: 1px solid var(--line); border-radius: 6px;
          background: var(--card); color: inherit; }
        .cards { display: grid; gap: .75rem; grid-template-columns: repeat(auto-fill, minmax(min(19rem, 100%), 1fr)); align-items: start; }
        .card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .9rem 1rem; }
        .card h3 { margin: 0 0 .4rem; font-size: 1rem; display: flex; justify-content: space-between; gap: 1rem; }
        h4 { font-size: .9rem; margin: .8rem 0 .3rem; }
        dl { display: grid; grid-template-columns: 1fr auto; gap: .15rem 1rem; margin: 0; }
        dt { color: var(--dim); } dd { margin: 0; text-align: right; font-variant-numeric: tabular-nums; }
        .good { color: var(--good); } .bad { color: var(--bad); } .odd { color: var(--odd); }
        section, .scroll { overflow-x: auto; } tr.bad td { color: var(--bad); }
        .move { display: grid; gap: .8rem 2rem; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); margin-bottom: .75rem; }
        .move h4:first-child { margin-top: 0; } .move p { margin: .5rem 0 0; } .move table { font-size: .87rem; }
        table { width: 100%; border-collapse: collapse; background: var(--card); border: 1px solid var(--line); }
        th, td { padding: .35rem .7rem; text-align: left; border-bottom: 1px solid var(--line); }
        th { color: var(--dim); font-weight: 500; } .n { text-align: right; font-variant-numeric: tabular-nums; }
        ul { list-style: none; margin: 0; padding: 0; } li { padding: .3rem 0; border-bottom: 1px solid var(--line); }
        li time { color: var(--dim); margin-right: .6rem; }
        """

    private static let script = """
        const $ = id => document.getElementById(id);
        let token = sessionStorage.getItem("token"), last = null, timer = 0;
        const make = (tag, text, kind) => { const e = document.createElement(tag);
          if (text !== undefined) e.textContent = text; if (kind) e.className = kind; return e; };
        const count = n => n.toLocaleString("en");
        const age = s => s < 120 ? s.toFixed(0) + " s" : s < 7200 ? (s / 60).toFixed(0) + " min" : (s / 3600).toFixed(1) + " h";
        const kindOf = status => ({ READY: "good", STALE: "odd", NOT_READY: "odd", DISABLED: "odd" })[status] || "bad";
        function card(t) {
          const box = make("div", undefined, "card"), head = make("h3", t.name), facts = make("dl");
          head.append(make("span", t.status, kindOf(t.status)));
          const fact = (name, value, kind) => facts.append(make("dt", name), make("dd", value, kind));
          fact("Vendor", t.vendor);
          fact("Ready", t.ready ? "yes" : "no", t.ready ? "good" : "bad");
          for (const r of t.rules) fact(r.side ? "Age of the rules, " + r.side : "Age of the rules", age(r.seconds),
            r.seconds > 3600 ? "odd" : "");
          fact("Flags", count(t.flags)); fact("Changes since the start", count(t.changes));
          if (t.answers) {
            const a = t.answers, all = a.fresh + a.stale + a.refused + a.asked;
            fact("Users with decisions held", count(a.users));
            fact("Vendor asked", count(a.asked) + " of " + count(all));
            fact("Answered as stale", count(a.stale), a.stale ? "odd" : "");
            fact("Refused after a failure", count(a.refused), a.refused ? "bad" : "");
          }
          fact("Listening clients", count(t.streams));
          fact("Events waiting", count(t.waiting), t.waiting > 1000 ? "odd" : "");
          if (t.meanwhile) {
            fact("Waiting for the database", count(t.meanwhile.waiting), t.meanwhile.waiting ? "odd" : "");
            fact("Not recorded, file full", count(t.meanwhile.dropped), t.meanwhile.dropped ? "bad" : "");
          }
          fact("Events held for consent", count(t.held));
          for (const d of t.destinations) {
            fact(d.provider + ": accepted", count(d.accepted)); fact(d.provider + ": delivered", count(d.delivered));
            fact(d.provider + ": pending", count(d.pending)); fact(d.provider + ": purged", count(d.purged));
            fact(d.provider + ": dropped", count(d.dropped), d.dropped ? "bad" : "");
          }
          box.append(head, facts);
          return box;
        }
        function table(names, rows) {
          const table = make("table"), head = make("tr"), body = make("tbody");
          for (const [name, kind] of names) head.append(make("th", name, kind));
          for (const [cells, kind] of rows) {
            const row = make("tr", undefined, kind);
            cells.forEach((text, place) => row.append(make("td", text, names[place][1])));
            body.append(row);
          }
          table.append(make("thead"), body); table.tHead.append(head);
          const box = make("div", undefined, "scroll"); box.append(table);
          return box;
        }
        const counted = { sides: "sides", places: "first variations", exposures: "first exposures" };
        function move(t) {
          const m = t.move, box = make("div", undefined, "card move"), facts = make("dl"), side = make("div"), rest = make("div");
          const fact = (name, value, kind) => facts.append(make("dt", name), make("dd", value, kind));
          fact("Stage", m.stage + (m.stage === "live" ? ", " + (m.share * 100).toFixed(1) + " % to the new vendor" : ""));
          fact("Users pinned here, old / new", count(m.pinnedOld) + " / " + count(m.pinnedNew));
          fact("Users with another variation", count(m.changed), m.changed ? "bad" : "good");
          fact("Flags compared", count(m.compared));
          fact("Comparisons left out", count(m.dropped), m.dropped ? "odd" : "");
          fact("Mismatch rate is at most", (m.upperBound * 100).toPrecision(2) + " %");
          for (const [kind, n] of Object.entries(m.mismatches).sort()) fact("Mismatches: " + kind, count(n), n ? "odd" : "");
          side.append(make("h3", t.name), facts);
          for (const reason of m.held) side.append(make("p", "Held: " + reason, "bad"));
          const users = counts => Object.entries(counts).sort().map(([arm, n]) => arm + " " + count(n)).join(" · ");
          if (m.ratios.length) rest.append(make("h4", "Sample ratios"), table(
            [["Stage"], ["Counted"], ["Users"], ["p", "n"]],
            m.ratios.map(r => [[r.stage || "all", counted[r.kind] + (r.name ? " in " + r.name : ""), users(r.counts),
              (r.p < 0.001 ? "< 0.001" : r.p.toFixed(3)) + (r.alarm ? ", alarm" : "")], r.alarm ? "bad" : ""])));
          if (m.recent.length) rest.append(make("h4", "Latest mismatches"), table(
            [["Flag"], ["Mismatch"], ["Old"], ["New"]], m.recent.map(x => [[x.flag, x.class, x.old, x.new], ""])));
          box.append(side, rest);
          return box;
        }
        function show(s) {
          const before = new Map(((last || {}).requests || []).map(r => [r.tenant + "\\n" + r.route + "\\n" + r.status, r.count]));
          const span = last ? Math.max(0.001, s.seconds - last.seconds) : 0;
          const moving = s.tenants.filter(t => t.move);
          $("tenants").replaceChildren(...s.tenants.map(card));
          $("moves").replaceChildren(...moving.map(move)); $("moving").hidden = !moving.length;
          let rate = 0;
          const rows = s.requests.sort((a, b) => b.count - a.count).map(r => {
            const key = r.tenant + "\\n" + r.route + "\\n" + r.status;
            const now = span ? (r.count - (before.get(key) || 0)) / span : 0;
            // The page's own requests aren't counted.
            if (r.route !== "console") rate += now;
            const row = make("tr");
            row.append(make("td", r.tenant || "–"), make("td", r.route),
              make("td", r.status, r.status < 400 ? "good" : r.status < 500 ? "odd" : "bad"),
              make("td", now.toFixed(1), "n"), make("td", count(r.count), "n"));
            return row;
          });
          $("requests").replaceChildren(...rows);
          $("messages").replaceChildren(...(s.messages.length ? s.messages.map(m => {
            const item = make("li"); item.append(make("time", m.at.slice(11, 19)),
              make("span", m.event + " ", m.level === "error" ? "bad" : "odd"), m.message); return item;
          }) : [make("li", "None.")]));
          const minutes = Math.floor(s.seconds / 60);
          $("summary").textContent = (s.draining ? "Draining · " : "") + rate.toFixed(1) + " requests a second · up for "
            + (minutes < 1 ? "less than a minute" : minutes < 120 ? minutes + " min" : Math.floor(minutes / 60) + " h");
          last = s;
        }
        async function ask() {
          clearTimeout(timer);
          try {
            const answer = await fetch("/console/state", { headers: { Authorization: "Bearer " + token } });
            if (answer.status === 401) { sessionStorage.removeItem("token"); token = null; last = null;
              $("view").hidden = true; $("entry").hidden = false;
              $("summary").textContent = "This isn’t an operator’s token"; return; }
            show(await answer.json()); $("view").hidden = false; $("entry").hidden = true;
            sessionStorage.setItem("token", token);
          } catch { $("summary").textContent = "No answer; trying again"; }
          timer = setTimeout(ask, 1000);
        }
        $("entry").addEventListener("submit", e => { e.preventDefault(); token = $("token").value; ask(); });
        const given = new URLSearchParams(location.hash.slice(1)).get("token");
        if (given) { token = given; history.replaceState(null, "", location.pathname); }
        if (token) ask();
        """
}
