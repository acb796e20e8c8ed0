/// Decompresses DEFLATE (RFC 1951) with zlib and gzip framing (RFC 1950 and 1952), enough to read what clients send.
enum EvergageInflate {
    enum Failure: Error { case corrupt, tooLarge }

    static func decompress(_ bytes: [UInt8], limit: Int) throws(Failure) -> [UInt8] {
        var start = 0
        if bytes.count > 18, bytes[0] == 0x1f, bytes[1] == 0x8b, bytes[2] == 8 {
            let flags = bytes[3]
            start = 10
            if flags & 4 != 0 { start += 2 + Int(bytes[10]) + Int(bytes[11]) << 8 }
            for flag: UInt8 in [8, 16] where flags & flag != 0 {
                while start < bytes.count, bytes[start] != 0 { start += 1 }
                start += 1
            }
            if flags & 2 != 0 { start += 2 }
        } else if bytes.count > 6, bytes[0] & 0x0f == 8, (Int(bytes[0]) << 8 + Int(bytes[1])) % 31 == 0 {
            start = 2
        }
        guard start < bytes.count else { throw .corrupt }
        var reader = Bits(bytes: bytes, position: start)
        var output: [UInt8] = []
        var isLast = false
        while !isLast {
            isLast = try reader.take(1) == 1
            switch try reader.take(2) {
            case 0: try stored(&reader, &output, limit)
            case 1: try block(&reader, &output, limit, literals: .fixedLiterals, distances: .fixedDistances)
            case 2:
                let tables = try dynamicTables(&reader)
                try block(&reader, &output, limit, literals: tables.0, distances: tables.1)
            default: throw .corrupt
            }
        }
        return output
    }

    private struct Bits {
        let bytes: [UInt8]
        var position: Int
        var bit = 0

        mutating func take(_ count: Int) throws(Failure) -> Int {
            var value = 0
            for place in 0..<count {
                guard position < bytes.count else { throw .corrupt }
                value |= Int(bytes[position] >> UInt8(bit) & 1) << place
                bit += 1
                if bit == 8 { (bit, position) = (0, position + 1) }
            }
            return value
        }

        mutating func align() {
            if bit > 0 { (bit, position) = (0, position + 1) }
        }
    }

    private struct Codes {
        /// The symbols by code length and code.
        var symbols: [Int: Int] = [:]

        static let fixedLiterals = Codes(
            lengths: Array(repeating: 8, count: 144) + Array(repeating: 9, count: 112)
                + Array(repeating: 7, count: 24) + Array(repeating: 8, count: 8)
        )
        static let fixedDistances = Codes(lengths: Array(repeating: 5, count: 30))

        init(lengths: [Int]) {
            var code = 0
            for length in 1...15 {
                for (symbol, one) in lengths.enumerated() where one == length {
                    symbols[length << 16 | code] = symbol
                    code += 1
                }
                code <<= 1
            }
        }

        func next(_ reader: inout Bits) throws(Failure) -> Int {
            var code = 0
            for length in 1...15 {
                code = code << 1 | (try reader.take(1))
                if let symbol = symbols[length << 16 | code] { return symbol }
            }
            throw .corrupt
        }
    }

    private static func stored(_ reader: inout Bits, _ output: inout [UInt8], _ limit: Int) throws(Failure) {
        reader.align()
        let length = try reader.take(16)
        _ = try reader.take(16)
        guard reader.position + length <= reader.bytes.count else { throw .corrupt }
        guard output.count + length <= limit else { throw .tooLarge }
        output += reader.bytes[reader.position..<reader.position + length]
        reader.position += length
    }

    private static func dynamicTables(_ reader: inout Bits) throws(Failure) -> (Codes, Codes) {
        let literalCount = try reader.take(5) + 257
        let distanceCount = try reader.take(5) + 1
        let lengthCount = try reader.take(4) + 4
        let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
        var lengthLengths = Array(repeating: 0, count: 19)
        for index in 0..<lengthCount { lengthLengths[order[index]] = try reader.take(3) }
        let codes = Codes(lengths: lengthLengths)
        var lengths: [Int] = []
        while lengths.count < literalCount + distanceCount {
            let symbol = try codes.next(&reader)
            switch symbol {
            case 0...15: lengths.append(symbol)
            case 16:
                guard let last = lengths.last else { throw .corrupt }
                lengths += Array(repeating: last, count: try reader.take(2) + 3)
            case 17: lengths += Array(repeating: 0, count: try reader.take(3) + 3)
            default: lengths += Array(repeating: 0, count: try reader.take(7) + 11)
            }
        }
        guard lengths.count == literalCount + distanceCount else { throw .corrupt }
        return (Codes(lengths: Array(lengths[..<literalCount])), Codes(lengths: Array(lengths[literalCount...])))
    }

    private static let lengthBases = [
        3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227,
        258,
    ]
    private static let distanceBases = [
        1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097,
        6145, 8193, 12289, 16385, 24577,
    ]

    private static func block(
        _ reader: inout Bits,
        _ output: inout [UInt8],
        _ limit: Int,
        literals: Codes,
        distances: Codes
    ) throws(Failure) {
        while true {
            let symbol = try literals.next(&reader)
            if symbol == 256 { return }
            if symbol < 256 {
                guard output.count < limit else { throw .tooLarge }
                output.append(UInt8(symbol))
                continue
            }
            let index = symbol - 257
            guard index < lengthBases.count else { throw .corrupt }
            let extra = index < 8 || index == 28 ? 0 : index / 4 - 1
            let length = lengthBases[index] + (try reader.take(extra))
            let place = try distances.next(&reader)
            guard place < distanceBases.count else { throw .corrupt }
            let distance = distanceBases[place] + (try reader.take(place < 4 ? 0 : place / 2 - 1))
            guard distance <= output.count else { throw .corrupt }
            guard output.count + length <= limit else { throw .tooLarge }
            for _ in 0..<length { output.append(output[output.count - distance]) }
        }
    }
}
