/// Counts nested brackets and levels of indentation in YAML before it is parsed, because the parser recurses.
///
/// Leaves out brackets in comments and in quoted texts of one line, but only while it is certain where these begin.
/// After anything else, such as a block scalar, a tag or a quoted text of several lines, it counts every bracket.
struct YAMLDepth {
    /// What comes before a byte, blanks and comments left out.
    private enum Before {
        case nothing, colon, opening, closing, comma, quote, other
    }

    private let bytes: [UInt8]
    private let deepest: Int
    private var depth = 0
    private var line = 1
    private var column = 0
    private var isCertain = true
    private var before = Before.nothing
    /// Whether the line has only blanks and the dashes of lists so far.
    private var isLeading = true

    private init(_ bytes: [UInt8], deepest: Int) { (self.bytes, self.deepest) = (bytes, deepest) }

    /// Returns the line at which a document is nested more deeply than allowed; `nil` if it isn't.
    static func excess(of bytes: [UInt8], over deepest: Int) -> Int? {
        var scan = YAMLDepth(bytes, deepest: deepest)
        return scan.excess()
    }

    private mutating func excess() -> Int? {
        var place = 0
        while place < bytes.count {
            place = take(place)
            // A level takes at least one column, and real documents indent by at most eight.
            if depth > deepest || column > deepest * 8 { return line }
        }
        return nil
    }

    /// Takes the byte at a place, or the whole comment or quoted text that begins there.
    ///
    /// - Returns: The next place.
    private mutating func take(_ place: Int) -> Int {
        let byte = bytes[place]
        switch byte {
        case 0x0A, 0x0D:
            if byte == 0x0A { line += 1 }
            column = 0
            isLeading = true
            return place + 1
        case 0x20, 0x09:
            if isLeading { column += 1 }
            return place + 1
        case UInt8(ascii: "-") where isLeading, UInt8(ascii: "?") where isLeading:
            column += 1
            guard isBlank(place + 1) else { return end(place, .other) }
            if depth > 0 || byte == UInt8(ascii: "?") { before = .other }
            return place + 1
        case UInt8(ascii: "#"):
            if isBlank(place - 1) { return endOfComment(place) }
            if !isWord(place - 1) { isCertain = false }
            return end(place, .other)
        case UInt8(ascii: "\""), UInt8(ascii: "'"):
            if isWord(place - 1) { return end(place, .other) }
            guard isCertain, beginsText, let close = endOfText(place) else {
                isCertain = false
                return end(place, .other)
            }
            return end(close, .quote)
        case UInt8(ascii: "["), UInt8(ascii: "{"):
            // Elsewhere in a block, the bracket may belong to a plain text, in which quotes and commas mean nothing.
            if depth == 0, !beginsList { isCertain = false }
            depth += 1
            return end(place, .opening)
        case UInt8(ascii: "]"), UInt8(ascii: "}"):
            depth = max(0, depth - 1)
            return end(place, isCertain && depth == 0 ? .closing : .other)
        case UInt8(ascii: ","): return end(place, depth > 0 ? .comma : .other)
        case UInt8(ascii: ":"):
            let isColon = isBlank(place + 1) || (before == .quote && depth > 0)
            return end(place, isColon ? .colon : .other)
        case UInt8(ascii: "|"), UInt8(ascii: ">"), UInt8(ascii: "%"):
            isCertain = false
            return end(place, .other)
        default: return end(place, .other)
        }
    }

    private mutating func end(_ place: Int, _ kind: Before) -> Int {
        before = kind
        isLeading = false
        return place + 1
    }

    /// Whether a quote here begins a text, rather than being part of a plain one.
    ///
    /// A line of a block may continue a plain text, but then brackets in it mean nothing.
    private var beginsText: Bool {
        switch before {
        case .nothing, .colon: true
        case .opening, .comma: depth > 0
        case .closing, .quote, .other: isLeading && depth == 0
        }
    }

    /// Whether a bracket in a block begins a list or an object, rather than being part of a plain text.
    private var beginsList: Bool {
        switch before {
        case .nothing, .colon: true
        case .closing: isLeading
        case .opening, .comma, .quote, .other: false
        }
    }

    /// Returns the place of the closing quote; `nil` if it isn't on the same line.
    private func endOfText(_ start: Int) -> Int? {
        let quote = bytes[start]
        var place = start + 1
        while !isLineEnd(place) {
            switch bytes[place] {
            case UInt8(ascii: "\\") where quote == UInt8(ascii: "\""):
                place += 1
                if isLineEnd(place) { return nil }
            case quote where quote == UInt8(ascii: "'") && !isLineEnd(place + 1) && bytes[place + 1] == quote:
                place += 1
            case quote: return place
            default: break
            }
            place += 1
        }
        return nil
    }

    /// Returns the end of a comment; without certainty, brackets in it count.
    private mutating func endOfComment(_ start: Int) -> Int {
        isLeading = false
        var place = start + 1
        while isCertain, !isLineEnd(place) { place += 1 }
        return place
    }

    /// Whether a line ends at a place, in any of the ways that YAML has.
    private func isLineEnd(_ place: Int) -> Bool {
        guard place < bytes.count else { return true }
        return switch bytes[place] {
        case 0x0A, 0x0D: true
        case 0xC2, 0xE2:
            [[0xC2, 0x85], [0xE2, 0x80, 0xA8], [0xE2, 0x80, 0xA9]].contains { bytes[place...].starts(with: $0) }
        default: false
        }
    }

    /// Whether a place is a blank or beyond the text.
    private func isBlank(_ place: Int) -> Bool {
        !bytes.indices.contains(place) || [0x20, 0x09, 0x0A, 0x0D].contains(bytes[place])
    }

    private func isWord(_ place: Int) -> Bool {
        guard bytes.indices.contains(place) else { return false }
        return switch bytes[place] {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }
}
