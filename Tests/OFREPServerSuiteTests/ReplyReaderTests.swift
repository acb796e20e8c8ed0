import Testing

@testable import OFREPServerSuite

@Suite("Reading answers from bytes")
struct ReplyReaderTests {
    @Test(
        "an answer is read completely, however its body ends",
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "hi", false), ("HTTP/1.1 204 No\r\n\r\n", "", false),
            ("HTTP/1.1 304 Not\r\nContent-Length: 9\r\n\r\n", "", false),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nhi\r\n0\r\n\r\n", "hi", false),
            ("HTTP/1.1 200 OK\r\n\r\nto the end", "to the end", true),
        ]
    )
    func whole(text: String, body: String, isAtEnd: Bool) throws {
        var reader = ReplyReader()
        var reply: Reply?
        for byte in text.utf8 {
            #expect(reply == nil)
            reader.append([byte])
            reply = try reader.next(to: "POST", isAtEnd: false)
        }
        if isAtEnd { reply = try reader.next(to: "POST", isAtEnd: true) }
        #expect(reply?.text == body)
        #expect(reader.bytes.isEmpty)
    }

    @Test(
        "an answer that no client could read is rejected",
        arguments: [
            "HTTP/2 200\r\n\r\n", "nonsense\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nfield\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1 200",
        ]
    )
    func malformed(text: String) {
        var reader = ReplyReader()
        reader.append(text.utf8)
        #expect(throws: ReplyReader.Malformed.self) { try reader.next(to: "POST", isAtEnd: true) }
    }
}
