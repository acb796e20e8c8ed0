import Experimentation

/// Which hosts are accepted, and which are this machine.
enum HostRules {
    static func check(_ host: String) throws(ExperimentationError) {
        if let reason = objection(to: host) { throw ExperimentationError(.configuration, reason) }
    }

    static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host == "[::1]" { return true }
        return ipv4(host.utf8).map { $0 >> 24 == 127 } ?? false
    }

    // This is checked for each request, so it works on bytes in one pass: characters take ten times as long.
    private static func objection(to host: String) -> String? {
        let bytes = host.utf8
        guard !bytes.isEmpty else { return "an address names a host" }
        guard bytes.allSatisfy({ $0 < 0x80 }) else {
            return "a host is written in ASCII; an international name in its xn-- form"
        }
        guard bytes.count <= 253 else { return "a host has at most 253 characters" }
        if bytes.first == UInt8(ascii: "[") { return objectionToIPv6(host) }
        guard let lastLabel = lastLabel(of: bytes) else { return "this is not a host's name" }
        // Some part of every system reads a host that ends in a number as an IP address, and only this notation means
        // the same address to all of them.
        guard isNumeric(lastLabel) else { return nil }
        guard let address = ipv4(bytes) else { return "an IPv4 address is four numbers from 0 to 255" }
        return objection(toIPv4: address)
    }

    private static func objection(toIPv4 address: UInt32) -> String? {
        switch (address >> 24, address >> 16 & 255) {
        case (0, _): return "0.0.0.0 is no address to send to"
        case (169, 254): return "link-local addresses are refused"
        case (224..., _): return "multicast and reserved addresses are refused"
        default: return nil
        }
    }

    /// Returns the last of a host's labels, if all of them are well formed.
    private static func lastLabel(of host: String.UTF8View) -> Substring.UTF8View? {
        let hyphen = UInt8(ascii: "-")
        var start = host.startIndex
        var length = 0
        var last = hyphen
        for index in host.indices {
            let byte = host[index]
            switch byte {
            case UInt8(ascii: "."):
                guard length > 0, last != hyphen else { return nil }
                start = host.index(after: index)
                length = 0
                continue
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): break
            case hyphen where length > 0: break
            default: return nil
            }
            length += 1
            last = byte
            guard length <= 63 else { return nil }
        }
        return length > 0 && last != hyphen ? host[start...] : nil
    }

    private static func isNumeric(_ label: Substring.UTF8View) -> Bool {
        if label.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) { return true }
        guard label.starts(with: "0x".utf8) else { return false }
        return label.dropFirst(2).allSatisfy(PathRules.isHex)
    }

    /// Parses an address of four plain numbers.
    private static func ipv4(_ host: String.UTF8View) -> UInt32? {
        var address: UInt32 = 0
        var number: UInt32 = 0
        var digits = 0
        var dots = 0
        for byte in host {
            switch byte {
            case UInt8(ascii: "."):
                guard digits > 0 else { return nil }
                address = address << 8 | number
                dots += 1
                (number, digits) = (0, 0)
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                // Some parsers take a leading zero for octal.
                guard digits == 0 || number > 0 else { return nil }
                number = number * 10 + UInt32(byte - UInt8(ascii: "0"))
                digits += 1
                guard number <= 255 else { return nil }
            default:
                return nil
            }
            guard dots <= 3 else { return nil }
        }
        return dots == 3 && digits > 0 ? address << 8 | number : nil
    }

    private static func objectionToIPv6(_ host: String) -> String? {
        guard host.hasSuffix("]"), let address = IPv6Address(host.dropFirst().dropLast()) else {
            return "this is not an IPv6 address"
        }
        switch address.meaning {
        case .host: return nil
        case .unspecified: return "[::] is no address to send to"
        case .linkLocal: return "link-local addresses are refused"
        case .multicast: return "multicast and reserved addresses are refused"
        case .ipv4: return "an IPv4 address is four numbers from 0 to 255"
        case .translated(let ipv4): return objection(toIPv4: ipv4)
        }
    }
}

/// The form that a request's path must have so that every server reads the same segments.
enum PathRules {
    /// Returns what is wrong with a path (without a query), as the end of a sentence.
    static func objection(to path: Substring) -> String? {
        guard path.utf8.first == UInt8(ascii: "/") else { return "doesn't begin with a slash" }
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
        var rest = path.utf8.dropFirst()
        while let slash = rest.firstIndex(of: UInt8(ascii: "/")) {
            let segment = rest[..<slash]
            if segment.isEmpty { return "holds an empty segment" }
            if isDots(segment) { return "holds the segment . or .." }
            rest = rest[rest.index(after: slash)...]
        }
        return isDots(rest) ? "holds the segment . or .." : nil
    }

    /// Returns what is wrong with a query, as the end of a sentence.
    static func objection(toQuery query: Substring) -> String? {
        let isClean = query.utf8.allSatisfy { isPathByte($0) || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "%") }
        return isClean ? nil : "holds a character that isn't percent-encoded"
    }

    /// Servers decode before they resolve dots, so encoded dots count as well.
    private static func isDots(_ segment: Substring.UTF8View) -> Bool {
        var dots = 0
        var rest = segment
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard rest.popFirst() == UInt8(ascii: "2"), let last = rest.popFirst(), last | 0x20 == UInt8(ascii: "e")
                else { return false }
            } else if byte != UInt8(ascii: ".") {
                return false
            }
            dots += 1
        }
        return dots == 1 || dots == 2
    }

    static func isHex(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    private static func isPathByte(_ byte: UInt8) -> Bool {
        if PercentEncoding.isUnreserved(byte) { return true }
        switch byte {
        case UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&")...UInt8(ascii: ","), UInt8(ascii: "/"),
            UInt8(ascii: ":"), UInt8(ascii: ";"), UInt8(ascii: "="), UInt8(ascii: "@"):
            return true
        default:
            return false
        }
    }
}
