import HTTPTypes
import Testing

@testable import AdapterKit

@Suite("The head of a response")
struct ResponseHeadTests {
    /// Takes lines until one is refused.
    private func head(_ lines: [String]) -> ResponseHead {
        var head = ResponseHead()
        for line in ["HTTP/1.1 200 OK"] + lines + [""] {
            let bytes = Array("\(line)\r\n".utf8)
            if !bytes.withUnsafeBytes({ head.take($0) }) { break }
        }
        return head
    }

    @Test("has 200 fields at most", arguments: [(200, true), (201, false)])
    func fields(count: Int, isComplete: Bool) {
        let head = head((0..<count).map { "x-\($0): \($0)" })
        #expect(head.isComplete == isComplete)
        #expect((head.objection == nil) == isComplete)
        #expect(head.fields.count == 200)
    }

    @Test("has 128 KB at most")
    func bytes() {
        let head = head(Array(repeating: "x-long: " + String(repeating: "a", count: 1_014), count: 130))
        #expect(head.objection == "the response's head is too large")
    }

    @Test("values lose the spaces around them; lines without a usable name are left out")
    func values() {
        let head = head(["X-A:  one two \t", "x-b:", "no name here", "bad name: 1", ": 2", "x-c: a:b"])
        let expected: HTTPFields = [
            HTTPField.Name("x-a")!: "one two", HTTPField.Name("x-b")!: "", HTTPField.Name("x-c")!: "a:b",
        ]
        #expect(head.isComplete)
        #expect(head.fields == expected)
    }

    @Test(
        "two lengths must be the same, whatever the case of their names",
        arguments: [
            (["Content-Length: 5", "CONTENT-LENGTH: 5"], true), (["content-length: 5", "Content-length: 6"], false),
        ]
    )
    func lengths(lines: [String], isBelieved: Bool) {
        #expect((head(lines).objection == nil) == isBelieved)
    }
}
