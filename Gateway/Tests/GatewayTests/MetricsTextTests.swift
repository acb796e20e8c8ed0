import Testing

@testable import GatewayServer

@Suite("Metrics as text")
struct MetricsTextTests {
    @Test(
        "a label is one line within quotation marks, whatever code points its characters consist of",
        arguments: [
            ("a\nb", #"a\nb"#), ("a\r\nb", "a\r\\nb"), ("\"\u{301}", "\\\"\u{301}"), ("\\\u{301}\"", "\\\\\u{301}\\\""),
            ("\n\u{301}", "\\n\u{301}"), ("é日本", "é日本"),
        ]
    )
    func labels(name: String, written: String) {
        var figures = Counters.Figures()
        figures.requests[Counters.Labels(tenant: name, route: "flag", status: 200)] = 1
        let text = MetricsText.of(figures, [], isReady: true)
        // By bytes, as a reader splits it.
        let lines = text.utf8.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
        let expected = #"xp_gateway_requests_total{tenant=""# + written + #"",route="flag",status="200"} 1"#
        #expect(lines.count == 6)
        #expect(lines.last.map { Array($0.unicodeScalars) } == Array(expected.unicodeScalars))
    }
}
