import Testing

@testable import OFREPServerSuite

@Suite("Reading events from bytes")
struct ServerSentEventTests {
    @Test(
        "events are complete at an empty line, whatever ends a line",
        arguments: ["\n", "\r\n", "\r"],
        [
            ("", []), ("data: a\n", []), (": here\n\n", [ServerSentEvent()]),
            ("data: a\n\ndata: b", [ServerSentEvent(data: "a")]),
            ("event: message\ndata: a\nid: 7\ndata:b\n\n", [ServerSentEvent(name: "message", data: "a\nb")]),
            ("data\n\n", [ServerSentEvent(data: "")]), ("\u{FEFF}data: a:b\n\n", [ServerSentEvent(data: "a:b")]),
        ] as [(String, [ServerSentEvent])]
    )
    func read(end: String, sample: (text: String, events: [ServerSentEvent])) {
        let text = sample.text.replacing("\n", with: end)
        #expect(ServerSentEvent.read(Array(text.utf8)) == sample.events)
    }
}
