import Experimentation
import Testing

@testable import OFREPServerSuite

@Suite("An exchange as shown in a report")
struct RedactionTests {
    private static let redaction = Redaction(
        tokens: ["", "secret-token", "secret-token-of-another", "a/b+long"],
        streams: [
            ["type": "sse", "url": "https://example.com/canary"],
            ["type": "sse", "endpoint": ["requestUri": "/sse?canary"]],
            ["type": "sse", "endpoint": ["requestUri": "/short"]],
        ]
    )

    @Test(
        "contains no token and no address of a stream, but all the rest",
        arguments: [
            ("", ""), ("nothing to hide", "nothing to hide"), ("x secret-token y", "x <token> y"),
            ("secret-token-of-another", "<token>"), ("secret-toke", "<token>"), ("secret-tok", "secret-tok"),
            (#""a\/b+long""#, #""<token>""#), ("GET /sse?canary at /short", "GET <address> at /short"),
            (#"{"error":"https:\/\/example.com\/canary"}"#, #"{"error":"<address>"}"#),
            (
                #"{"eventStreams": [{"type":"sse","endpoint":{"requestUri":"/other?\"}"}}],"flags":["a/b"]}"#,
                #"{"eventStreams": [{"type":"sse","endpoint":{"requestUri":"<address>"}}],"flags":["a/b"]}"#
            ),
            (#"{"eventStreams":null,"flags":["a/b"]}"#, #"{"eventStreams":null,"flags":["a/b"]}"#),
            (#"{"a":{"eventStreams":"x/y"},"b":"x/y"}"#, #"{"a":{"eventStreams":"<address>"},"b":"x/y"}"#),
            (#"{"eventStreams":[{"url":"https://x.example/unfin"#, #"{"eventStreams":[{"url":"<address>""#),
        ]
    )
    func hidden(text: String, shown: String) {
        #expect(Self.redaction.shown(text.utf8) == shown)
    }

    @Test("is cut after the redaction, and never within a token", arguments: 0..<30)
    func cut(most: Int) {
        let whole = "12345 <token> 67890"
        #expect(Self.redaction.shown("12345 secret-token 67890".utf8, atMost: most) == String(whole.prefix(most)))
    }
}
