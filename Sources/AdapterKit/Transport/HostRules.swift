import Experimentation

/// Which hosts are taken, and which are this machine.
enum HostRules {
    static func check(_ host: String) throws(ExperimentationError) {
        if let reason = objection(to: host) { throw ExperimentationError(.configuration, reason) }
    }

    static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host == "[::1]" { return true }
        return ipv4(host)?.first == 127
    }

    private static func objection(to host: String) -> String? {
        guard !host.isEmpty else { return "an address names a host" }
        guard host.utf8.allSatisfy({ $0 < 0x80 }) else {
            return "a host is written in ASCII; an international name in its xn-- form"
        }
        guard host.utf8.count <= 253 else { return "a host has at most 253 characters" }
        if host.hasPrefix("[") { return objectionToIPv6(host) }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.allSatisfy({ isLabel($0) }) else { return "this is not a host's name" }
        // What ends in a number is an IP address to some part of every system, and only this way of writing one is the
        // same address to all of them.
        guard let last = labels.last, isNumeric(last) else { return nil }
        guard let bytes = ipv4(host) else { return "an IPv4 address is four numbers from 0 to 255" }
        switch (bytes[0], bytes[1]) {
        case (0, _): return "0.0.0.0 is no address to send to"
        case (169, 254): return "link-local addresses are refused"
        case (224..., _): return "multicast and reserved addresses are refused"
        default: return nil
        }
    }

    private static func isLabel(_ label: Substring) -> Bool {
        guard (1...63).contains(label.utf8.count), label.first != "-", label.last != "-" else { return false }
        return label.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    private static func isNumeric(_ label: Substring) -> Bool {
        if label.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) { return true }
        guard label.hasPrefix("0x") else { return false }
        return label.dropFirst(2).allSatisfy(\.isHexDigit)
    }

    private static func ipv4(_ host: String) -> [UInt8]? {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var bytes: [UInt8] = []
        for part in parts {
            // A leading zero means octal to some.
            guard part == "0" || !part.hasPrefix("0"), part.allSatisfy(\.isNumber), let byte = UInt8(part) else {
                return nil
            }
            bytes.append(byte)
        }
        return bytes
    }

    private static func objectionToIPv6(_ host: String) -> String? {
        let inner = host.dropFirst().dropLast()
        guard host.hasSuffix("]"), inner.utf8.count >= 2,
            inner.allSatisfy({ $0.isASCII && ($0.isHexDigit || $0 == ":") }), isIPv6(inner)
        else { return "this is not an IPv6 address" }
        if inner == "::" { return "[::] is no address to send to" }
        let first = inner.split(separator: ":", omittingEmptySubsequences: false).first.map(String.init) ?? ""
        guard let group = UInt16(first.isEmpty ? "0" : first, radix: 16) else { return "this is not an IPv6 address" }
        if group & 0xffc0 == 0xfe80 { return "link-local addresses are refused" }
        if group & 0xff00 == 0xff00 { return "multicast and reserved addresses are refused" }
        return nil
    }

    private static func isIPv6(_ text: Substring) -> Bool {
        let halves = text.components(separatedBy: "::")
        guard halves.count <= 2 else { return false }
        let groups = halves.map { $0.isEmpty ? [] : $0.split(separator: ":", omittingEmptySubsequences: false) }
        guard groups.joined().allSatisfy({ (1...4).contains($0.count) }) else { return false }
        let count = groups.map(\.count).reduce(0, +)
        return halves.count == 2 ? count < 8 : count == 8
    }
}

extension Substring {
    fileprivate func components(separatedBy separator: String) -> [Substring] {
        var parts: [Substring] = []
        var rest = self
        while let range = rest.range(of: separator) {
            parts.append(rest[..<range.lowerBound])
            rest = rest[range.upperBound...]
        }
        return parts + [rest]
    }

    /// Finds a text; the standard library's own search, so that this file needs nothing else.
    func range(of text: String) -> Range<Index>? { firstRange(of: text) }
}

/// What a request's path must look like so that every server reads the same segments.
enum PathRules {
    /// Says what is wrong with a path (without a query), as the end of a sentence about it.
    static func objection(to path: Substring) -> String? {
        guard path.first == "/" else { return "doesn't begin with a slash" }
        var bytes = path.utf8.makeIterator()
        while let byte = bytes.next() {
            if byte == UInt8(ascii: "%") {
                guard let high = bytes.next(), let low = bytes.next(), isHex(high), isHex(low) else {
                    return "holds a % that two hexadecimal digits don't follow"
                }
            } else if !isPathByte(byte) {
                return "holds a character that isn't percent-encoded"
            }
        }
        let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (index, segment) in segments.enumerated() {
            if segment.isEmpty && index < segments.count - 1 { return "holds an empty segment" }
            if isDots(segment) { return "holds the segment . or .." }
        }
        return nil
    }

    /// Says what is wrong with a query, as the end of a sentence about it.
    static func objection(toQuery query: Substring) -> String? {
        let isClean = query.utf8.allSatisfy { isPathByte($0) || [UInt8(ascii: "?"), UInt8(ascii: "%")].contains($0) }
        return isClean ? nil : "holds a character that isn't percent-encoded"
    }

    /// Servers decode before they resolve dots, so the encoded forms count as well.
    private static func isDots(_ segment: Substring) -> Bool {
        let plain = segment.replacing("%2e", with: ".").replacing("%2E", with: ".")
        return plain == "." || plain == ".."
    }

    private static func isHex(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    private static let punctuation = Set("!$&'()*+,;=:@/".utf8)

    private static func isPathByte(_ byte: UInt8) -> Bool {
        PercentEncoding.isUnreserved(byte) || punctuation.contains(byte)
    }
}
