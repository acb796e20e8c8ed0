/// The page's style sheet: light and dark, wide and narrow, screen and print.
package enum HTMLStyle {
    package static let sheet = """
        :root{--ink:#1b1f27;--soft:#5b6472;--line:#dfe3ea;--page:#f6f7f9;--card:#fff;--accent:#3157d5;--warn:#8a4b00;
        --warnbg:#fff4e0;--bad:#a31621;--badbg:#fdeaec;--good:#13703c;--chip:#edf0f5;--c0:#3157d5;--c1:#0d7d63;--c2:#b4541a;
        --c3:#8b3fb0;--c4:#4a5568;--c5:#b0306a}
        @media screen and (prefers-color-scheme:dark){:root{--ink:#e8ebf1;--soft:#a2abba;--line:#2d3440;--page:#12151b;--card:#1a1f28;
        --accent:#8fa8ff;--warn:#ffcf87;--warnbg:#3a2b12;--bad:#ff9aa5;--badbg:#3d1a20;--good:#7fd6a3;--chip:#272e3a;
        --c0:#8fa8ff;--c1:#4fd1ab;--c2:#f2a065;--c3:#cf9af0;--c4:#a7b1c2;--c5:#f58fb8}}
        *{box-sizing:border-box}
        html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
        body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
        header,main,footer{max-width:1240px;margin:0 auto;padding:0 24px}
        header{padding-top:40px}
        h1{font-size:2.1rem;line-height:1.15;margin:.2em 0 .3em;letter-spacing:-.02em;text-wrap:balance}
        h2{font-size:1.35rem;margin:0 0 14px;letter-spacing:-.01em}
        h3{font-size:1.05rem;margin:0 0 8px}
        h4{font-size:.8rem;margin:10px 0 4px;color:var(--soft);text-transform:uppercase;letter-spacing:.06em}
        .kicker{color:var(--soft);margin:0;font-size:.9rem}
        .lead{font-size:1.1rem;max-width:68ch;margin:0 0 18px;text-wrap:pretty}
        section{margin:44px 0}
        code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.88em}
        nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:8px;padding:0;margin:0}
        nav a{display:inline-block;padding:6px 14px;border:1px solid var(--line);border-radius:999px;background:var(--card);
        color:var(--ink);text-decoration:none;font-size:.92rem}
        nav a:hover{border-color:var(--accent);color:var(--accent)}
        :focus-visible{outline:3px solid var(--accent);outline-offset:2px;border-radius:4px}
        .skip{position:absolute;left:-9999px}.skip:focus{left:16px;top:12px;background:var(--card);padding:8px 14px;z-index:9}
        .hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
        .cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(240px,1fr));gap:16px;align-items:start}
        .cards+.scroll,.counts{margin-top:16px}.counts td{font-variant-numeric:tabular-nums}.counts td:not(:first-child){min-width:0}
        .card{overflow-wrap:anywhere;background:var(--card);border:1px solid var(--line);border-radius:12px;padding:16px 18px}
        .card ul{margin:0;padding-left:18px}.card li{margin:4px 0}.card p{margin:0}
        .card.v0,.card.v1,.card.v2,.card.v3,.card.v4,.card.v5{border-top:4px solid var(--c)}
        dl{margin:0}dl div{display:flex;justify-content:space-between;gap:12px;padding:3px 0;border-top:1px solid var(--line)}
        dl div:first-child{border-top:0}dt{color:var(--soft)}dd{margin:0;white-space:nowrap;font-variant-numeric:tabular-nums;text-align:right}
        .v0{--c:var(--c0)}.v1{--c:var(--c1)}.v2{--c:var(--c2)}.v3{--c:var(--c3)}.v4{--c:var(--c4)}.v5{--c:var(--c5)}
        .scroll{position:relative;overflow-x:auto;border:1px solid var(--line);border-radius:12px;background:var(--card)}
        table{border-collapse:collapse;width:100%;font-size:.92rem}
        caption{text-align:left;padding:10px 14px;color:var(--soft)}
        th,td{padding:9px 14px;border-top:1px solid var(--line);text-align:left;vertical-align:top}
        thead th{border-top:0;font-size:.85rem;color:var(--soft);white-space:nowrap}
        .steps thead th[class^=v]{color:var(--c);font-size:.98rem;font-weight:650}
        tbody th{font-weight:550;min-width:190px;max-width:300px}
        .steps td{min-width:170px}
        .steps tbody th{padding-left:calc(14px + 2.1em)}.plain tbody th{padding-left:14px}
        .number{display:inline-block;width:2.1em;margin-left:-2.1em;color:var(--soft);font-weight:400;font-variant-numeric:tabular-nums}
        .mark{display:inline-block;background:var(--warnbg);color:var(--warn);border-radius:4px;padding:0 6px;font-size:.74rem;
        font-weight:600}
        tr.differs>th{box-shadow:inset 4px 0 0 var(--warn)}
        .badge{display:inline-block;background:var(--chip);color:var(--ink);border-radius:5px;padding:0 7px;font-size:.76rem;
        font-weight:600;letter-spacing:.02em}
        .badge.bad{background:var(--badbg);color:var(--bad)}
        td.unsupported{color:var(--soft)}td.broken{background:var(--badbg);color:var(--bad)}
        .value{font-weight:650;overflow-wrap:anywhere}
        .why,.quiet{color:var(--soft);font-size:.9em}
        .meta{display:block;color:var(--soft);font-size:.82rem;font-variant-numeric:tabular-nums}
        summary .meta{display:inline}
        .matrix td{text-align:center}.matrix td.no{color:var(--soft);font-size:.82rem;text-align:left}
        .matrix td.yes{color:var(--good);font-weight:700}.matrix td.inferred{font-weight:400;border-bottom-style:dashed}
        .filter{margin:0 0 12px}.filter input{width:18px;height:18px;vertical-align:-3px;accent-color:var(--accent)}
        body:has(#only:checked) tr.same{display:none}
        figure{margin:0 0 24px}figcaption{margin-bottom:8px;color:var(--soft)}
        figure .scroll{padding:18px}
        svg{display:block;width:100%;min-width:620px;height:auto;max-width:960px}
        svg rect{fill:var(--c,var(--c4))}svg .pale{opacity:.5}
        svg text{fill:var(--soft);font:13px system-ui,sans-serif;font-variant-numeric:tabular-nums}
        svg .name{fill:var(--ink);font-weight:650}svg .tick{font-size:11px}
        svg line.axis{stroke:var(--line)}svg line.whisker{stroke:var(--soft);stroke-width:1}
        .scroll+figure{margin-top:28px}.folded{margin-top:16px}.folded>summary{color:var(--soft)}body:has(#only:checked) .folded{display:none}
        svg polyline{fill:none;stroke:var(--c,var(--c4));stroke-width:2}svg circle{fill:var(--c,var(--c4))}
        details.wire{background:var(--card);border:1px solid var(--line);border-radius:12px;margin:0 0 12px;padding:4px 16px}
        summary{cursor:pointer;padding:10px 0;font-weight:600;overflow-wrap:anywhere}
        .exchange{border-top:1px solid var(--line)}.exchange summary{font-weight:400;padding:8px 0}
        pre{background:var(--page);border:1px solid var(--line);border-radius:8px;padding:12px;margin:0 0 12px;overflow-x:auto;
        max-height:420px;white-space:pre-wrap;overflow-wrap:anywhere}
        p.broken{color:var(--bad)}
        footer{color:var(--soft);font-size:.88rem;padding-bottom:48px}
        @media screen and (max-width:760px){header,main,footer{padding-left:16px;padding-right:16px}header{padding-top:24px}
        h1{font-size:1.6rem}.steps,.steps tbody,.steps tr,.steps th,.steps td{display:block}.steps thead{display:none}
        .steps tbody th{max-width:none;background:var(--page);border-top:2px solid var(--line);padding-top:10px;padding-bottom:10px}
        .steps caption{display:block;width:auto}.steps tbody th{padding-left:calc(14px + 2.1em)}.plain tbody th{padding-left:14px}
        .steps td{padding:8px 14px 8px 18px;border-left:4px solid var(--c,var(--line));min-width:0}
        .steps td::before{content:attr(data-vendor);display:block;font-size:.78rem;font-weight:650;color:var(--c,var(--soft))}
        body:has(#only:checked) .steps tr.same{display:none}}
        @page{margin:12mm}
        @media print{:root{--page:#fff;--card:#fff;--ink:#000;--soft:#444;--line:#bbb}body{font-size:9.5pt}
        nav,.skip,.filter,#wire{display:none}header,main,footer{max-width:none;padding:0}header{padding-top:0}
        h1{font-size:18pt}h2{font-size:13pt;break-after:avoid}h3{font-size:11pt}.lead{font-size:10.5pt}
        .scroll,figure .scroll{overflow:visible;border:0;padding:0}section{margin:16pt 0}tr,.card,figure{break-inside:avoid}
        .cards{grid-template-columns:repeat(auto-fit,minmax(124pt,1fr));gap:8pt}#glance .cards{grid-template-columns:repeat(auto-fit,minmax(92pt,1fr))}.card{padding:8pt 7pt;border-radius:6pt;font-size:8.5pt}dd{white-space:normal}.card dl{overflow-wrap:normal}dl div{gap:6pt;padding:1pt 0}
        thead{display:table-header-group}table{font-size:8pt}th,td{padding:3pt 5pt}tbody th{max-width:none}
        .steps td,tbody th{min-width:0}.meta,.badge,.mark,.matrix td.no,thead th{font-size:7pt}.steps thead th[class^=v]{font-size:9pt}
        .steps tbody th{padding-left:calc(2.1em + 8pt)}.plain tbody th{padding-left:5pt}footer{font-size:8pt}.badge,.mark,.card,rect{print-color-adjust:exact;-webkit-print-color-adjust:exact}
        svg{min-width:0}footer{padding-bottom:0}}
        @media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
        """
}
