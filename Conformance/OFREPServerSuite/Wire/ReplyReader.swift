/// A strict parser of HTTP/1.1 answers: whatever it rejects, some client rejects.
struct ReplyReader {
    /// Why an answer is malformed.
    struct Malformed: Error, CustomStringConvertible {
        let description: String
        /// What came instead, uncut: it may repeat a token, which is recognized only if nothing is cut off.
        let found: [UInt8]
    }

    private(set) var bytes: [UInt8] = []

    mutating func append(_ more: some Sequence<UInt8>) { bytes.append(contentsOf: more) }

    /// Parses the next answer; `nil` if it is incomplete.
    ///
    /// - Parameters:
    ///   - method: The method of the request.
    ///   - isAtEnd: Whether nothing follows.
    /// - Returns: The answer.
    /// - Throws: ``Malformed``.
    mutating func next(to method: String, isAtEnd: Bool) throws(Malformed) -> Reply? {
        guard let (reply, start) = try head() else {
            guard isAtEnd, !bytes.isEmpty else { return nil }
            throw Malformed(description: "the connection ended within a head", found: bytes)
        }
        var complete = reply
        if method == "HEAD" || reply.status == 204 || reply.status == 304 || reply.status < 200 {
            bytes.removeFirst(start)
            return reply
        }
        if reply.isChunked {
            let (body, end) = try chunks(from: start)
            guard let end else { return try unfinished(isAtEnd) }
            complete.body = body
            bytes.removeFirst(end)
        } else if let text = reply.field("Content-Length") {
            guard let length = Int(text), length >= 0 else { throw malformed("Content-Length", text) }
            guard bytes.count - start >= length else { return try unfinished(isAtEnd) }
            complete.body = Array(bytes[start..<start + length])
            bytes.removeFirst(start + length)
        } else {
            guard isAtEnd else { return nil }
            complete.body = Array(bytes[start...])
            bytes = []
        }
        return complete
    }

    /// Parses the head of the next answer without consuming it; `nil` if it is incomplete.
    func head() throws(Malformed) -> (Reply, Int)? {
        guard let end = Self.index(of: Array("\r\n\r\n".utf8), in: bytes[...]) else { return nil }
        var lines = String(decoding: bytes[..<end], as: UTF8.self).split(
            separator: "\r\n",
            omittingEmptySubsequences: false
        )
        let first = lines.removeFirst().split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard first.count >= 2, first[0].hasPrefix("HTTP/1."), first[1].count == 3, let status = Int(first[1]) else {
            throw Malformed(description: "what came isn't HTTP", found: bytes)
        }
        var fields: [Reply.Field] = []
        for line in lines {
            guard let colon = line.firstIndex(of: ":"), colon > line.startIndex else {
                throw malformed("a field without a colon", line)
            }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            fields.append(Reply.Field(name: String(line[..<colon]), value: String(value)))
        }
        return (Reply(status: status, fields: fields), end + 4)
    }

    /// Returns the body of the next answer as far as it has come, without consuming it; `nil` before its head.
    func bodySoFar() throws(Malformed) -> [UInt8]? {
        guard let (reply, start) = try head() else { return nil }
        return reply.isChunked ? try chunks(from: start).body : Array(bytes[start...])
    }

    private func unfinished(_ isAtEnd: Bool) throws(Malformed) -> Reply? {
        if isAtEnd { throw Malformed(description: "the connection ended within a body", found: []) }
        return nil
    }

    /// Reads chunks as far as they have come; the end is `nil` before the last chunk.
    private func chunks(from start: Int) throws(Malformed) -> (body: [UInt8], end: Int?) {
        var body: [UInt8] = []
        var at = start
        while let end = Self.index(of: [13, 10], in: bytes[at...]) {
            let digits = String(decoding: bytes[at..<end].prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self)
            guard let size = Int(digits, radix: 16), size >= 0, size < 1 << 30 else {
                throw malformed("a chunk of an unreadable size", digits)
            }
            at = end + 2
            body += bytes[at...].prefix(size)
            guard bytes.count >= at + size + 2 else { return (body, nil) }
            at += size + 2
            if size == 0 { return (body, at) }
        }
        return (body, nil)
    }

    private func malformed(_ description: String, _ text: some StringProtocol) -> Malformed {
        Malformed(description: description, found: Array(text.utf8))
    }

    private static func index(of pattern: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
        var at = bytes.startIndex
        while at + pattern.count <= bytes.endIndex {
            if bytes[at..<at + pattern.count].elementsEqual(pattern) { return at }
            at += 1
        }
        return nil
    }
}
