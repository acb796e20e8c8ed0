/// The frame of a page: head, heading, content, footer.
struct HTMLPage {
    /// The heading, also used in the window's title.
    var title: String
    /// The end of the window's title, after the heading.
    var titleEnd = ""
    /// The line above the heading, as markup.
    var kicker: String
    /// The introduction.
    var lead: String
    /// The links to the sections, as markup.
    var navigation: String
    /// The id of the skip link's target.
    var skip: String
    /// The text of the skip link.
    var skipTitle: String
    /// The sections, as markup.
    var sections: [String]
    /// The footer, as markup.
    var footer: String

    var text: String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
        <meta name="color-scheme" content="light dark">
        <title>\(HTML.escaped(title))\(titleEnd)</title>
        <style>
        \(HTMLStyle.sheet)
        </style>
        </head>
        <body>
        <a class="skip" href="#\(skip)">\(skipTitle)</a>
        <header>
        <p class="kicker">\(kicker)</p>
        <h1>\(HTML.escaped(title))</h1>
        <p class="lead">\(HTML.escaped(lead))</p>
        \(navigation)
        </header>
        <main>
        \(sections.filter { !$0.isEmpty }.joined(separator: "\n"))
        </main>
        <footer><p>\(footer)</p></footer>
        </body>
        </html>

        """
    }

    /// Links to sections, by id and title.
    static func navigation(_ links: [(id: String, title: String)]) -> String {
        let items = links.map { "<li><a href=\"#\($0.id)\">\(HTML.escaped($0.title))</a></li>" }.joined()
        return "<nav aria-label=\"Contents\"><ul>\(items)</ul></nav>"
    }
}
