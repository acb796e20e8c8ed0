import Foundation

/// An answer that was recorded from the gateway: status, fields and bytes, read from a file that `curl -i` wrote.
public struct FixedAnswer: Sendable {
    /// The status.
    public var status = 200
    /// The header fields, in their order.
    public var fields: [(name: String, value: String)] = []
    /// The body.
    public var body: [UInt8] = []

    /// Reads the file that the command line names.
    public init() throws {
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: CommandLine.arguments[1])))
        let end = bytes.indices.dropLast(3).first { Array(bytes[$0..<$0 + 4]) == [13, 10, 13, 10] } ?? 0
        var lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
        status = Int(lines.removeFirst().split(separator: " ")[1]) ?? 200
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1)
            fields.append((String(parts[0]), parts[1].trimmingCharacters(in: .whitespaces)))
        }
        body = Array(bytes[(end + 4)...])
    }
}

/// Prints where a server listens, at once: the program that started it waits for the line.
public func announce(port: Int?) {
    FileHandle.standardOutput.write(Data("http://127.0.0.1:\(port ?? 0)\n".utf8))
}
