import AdapterKit
import HTTPTypes
import Testing

@Suite("Pages instead of answers")
struct PageTests {
    @Test(
        "a page is recognized by its first character, whatever its type, and an answer without a body isn't a page",
        arguments: [
            ("<!doctype html><p>Log in", nil, true), ("<HTML>", nil, true), ("\n\t <p>Log in", nil, true),
            ("\u{FEFF}<!-- a comment --><html>", nil, true), ("<?xml version=\"1.0\"?><html/>", "text/xml", true),
            ("OK", "text/html; charset=utf-8", false), ("{}", "text/html", false), ("OK", "text/plain", false),
            ("{\"a\":\"<\"}", "application/json", false), ("", nil, false),
            (" \r\n", "text/html", false),
        ] as [(String, String?, Bool)]
    )
    func isPage(body: String, type: String?, isPage: Bool) {
        var fields = HTTPFields()
        fields[.contentType] = type
        let reply = HTTPReply(response: HTTPResponse(status: .ok, headerFields: fields), body: Array(body.utf8))
        #expect(reply.isPage == isPage)
    }
}
