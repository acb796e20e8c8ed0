import AdapterKit
import Experimentation

/// The answer to a bulk evaluation.
///
/// Read member by member: a missing or mistyped member takes its default and affects no other.
struct OFREPEvaluation: Sendable {
    /// An item of the answer: a success, or a failure with a code.
    struct Item: Sendable {
        var key: String
        /// `nil` where the server leaves the value to the caller's default.
        var value: FlagValue?
        var variant: String?
        var reason: String?
        /// The failure's code; empty if it isn't a string.
        var errorCode: String?
        var metadata: [String: FlagValue]
    }

    var items: [Item] = []
    /// The announced event streams.
    var streams: [OFREPStream.Announcement] = []
    /// The members that were skipped, for the log; never contains values.
    var complaints: [String] = []

    /// Reads an answer.
    ///
    /// - Throws: ``ErrorCode/parseError`` unless it is an object with a list of flags: to treat anything else as an
    ///   empty answer would remove all flags.
    init(_ reply: HTTPReply) throws(ExperimentationError) {
        let document: FlagValue
        do throws(ExperimentationError) {
            document = try JSON.parse(reply.body)
        } catch {
            throw ExperimentationError(.parseError, "the OFREP server's answer: \(error.message)")
        }
        guard let members = document.objectValue else {
            throw ExperimentationError(.parseError, "the OFREP server's answer: an object is expected at the top")
        }
        guard let list = members["flags"]?.arrayValue else {
            throw ExperimentationError(.parseError, "the OFREP server's answer: flags must be a list")
        }
        items = list.compactMap(Item.init)
        if items.count < list.count {
            complaints.append("\(list.count - items.count) of \(list.count) flags have no key, and are left out")
        }
        if Set(items.map { Array($0.key.utf8) }).count < items.count {
            complaints.append("several flags have the same key; the last one counts")
        }
        guard let announced = members["eventStreams"], announced != .null else { return }
        guard let entries = announced.arrayValue else {
            complaints.append("eventStreams isn't a list; changes go unnoticed")
            return
        }
        streams = entries.compactMap(OFREPStream.Announcement.init)
    }
}

extension OFREPEvaluation.Item {
    init?(_ item: FlagValue) {
        guard let members = item.objectValue, let key = members["key"]?.stringValue, !key.isEmpty else { return nil }
        self.key = key
        value = members["value"].flatMap { $0 == .null ? nil : $0 }
        variant = members["variant"]?.stringValue
        reason = members["reason"]?.stringValue
        errorCode = members["errorCode"].flatMap { $0 == .null ? nil : $0.stringValue ?? "" }
        metadata = members["metadata"]?.objectValue?.filter { $0.value.isScalar } ?? [:]
    }
}

extension FlagValue {
    /// Whether the protocol allows this type in metadata.
    fileprivate var isScalar: Bool {
        switch self {
        case .bool, .int, .double, .string: true
        case .null, .array, .object: false
        }
    }
}
