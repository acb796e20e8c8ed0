import ConformanceKit
import Experimentation

/// The page's section of collapsible exchanges.
struct HTMLTranscripts {
    private let comparison: Comparison
    private static let mostExchanges = 60
    private static let mostCharacters = 4000

    init(_ comparison: Comparison) { self.comparison = comparison }

    var section: String {
        let vendors = comparison.vendors.filter { !$0.exchanges.isEmpty }
        guard !vendors.isEmpty else { return "" }
        return """
            <section id="wire" aria-labelledby="wire-title"><h2 id="wire-title">On the wire</h2>
            <p class="quiet">Requests and answers as they went, secrets redacted.</p>
            \(vendors.map(vendor).joined(separator: "\n"))
            </section>
            """
    }

    private func vendor(_ story: VendorStory) -> String {
        var stepOfExchange: [Int: Int] = [:]
        for outcome in story.outcomes {
            for number in outcome.exchanges { stepOfExchange[number] = outcome.step }
        }
        let shown = story.exchanges.prefix(Self.mostExchanges)
        let more = story.exchanges.count - shown.count
        let rest = more > 0 ? "<p class=\"quiet\">And \(more) more; the JSON report has them all.</p>" : ""
        return """
            <details class="wire"><summary>\(HTML.escaped(story.name)) <span class="meta">\
            \(story.exchanges.count) \(story.exchanges.count == 1 ? "exchange" : "exchanges")</span></summary>
            \(shown.map { exchange($0, step: stepOfExchange[$0.number]) }.joined(separator: "\n"))
            \(rest)</details>
            """
    }

    private func exchange(_ exchange: Exchange, step: Int?) -> String {
        let status = exchange.status.map(String.init) ?? "no answer"
        let isGood = exchange.status.map { (200..<300).contains($0) } ?? false
        let place = step.map { "step \($0) · " } ?? ""
        let fault = exchange.fault.map { " · fault: \(HTML.escaped($0))" } ?? ""
        return """
            <details class="exchange"><summary><code>\(HTML.escaped(exchange.method)) \(HTML.escaped(clipped(exchange.path, 90)))</code> \
            <span class="badge\(isGood ? "" : " bad")">\(status)</span> <span class="meta">\(place)\
            connection \(exchange.connection) · ↑\(Wording.bytes(exchange.bytesIn)) ↓\(Wording.bytes(exchange.bytesOut))\
            \(fault)</span></summary>
            <h4>Request</h4><pre tabindex="0">\(HTML.escaped(clipped(exchange.request, Self.mostCharacters)))</pre>
            <h4>Answer</h4><pre tabindex="0">\(HTML.escaped(clipped(exchange.response ?? "none", Self.mostCharacters)))</pre>
            </details>
            """
    }

    private func clipped(_ text: String, _ limit: Int) -> String {
        text.count > limit ? text.prefix(limit) + "…" : text
    }
}
