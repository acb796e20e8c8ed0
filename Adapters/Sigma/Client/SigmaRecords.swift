import AdapterKit
import Experimentation
import Foundation

/// A client's records in the store: named as in the vendor's SDK, and separate for each tag and token.
struct SigmaRecords: Sendable {
    enum Entry: String, Sendable {
        case configuration = "config"
        case place = "location"
        case user
        case privateID = "sigmaPrivateId"
        case forced = "sigmaForcedExperiments"
    }

    private let store: any StateStore
    private let prefix: String
    private let time: any TimeSource
    private let log: any LogSink

    init(tag: String, token: Secret, options: SigmaClientOptions) {
        store = options.store
        // Only a digest is written: the token is a secret, and a tag may hold anything.
        prefix = "sigma/" + MD5(of: Array("\(tag.utf8.count) \(tag)\(token.reveal())".utf8)).hexadecimal + "/"
        time = options.environment.time
        log = options.environment.log
    }

    /// Returns a record's bytes with the date at which they were stored; `nil` if there is no such record.
    ///
    /// - Throws: The store's error; there may be a record even so.
    func entry(_ entry: Entry) async throws(ExperimentationError) -> (value: [UInt8], date: Date)? {
        let stored = try await store.value(for: prefix + entry.rawValue)
        guard let stored, let end = stored.firstIndex(of: UInt8(ascii: "\n")),
            let seconds = Double(String(decoding: stored[..<end], as: UTF8.self)), seconds.isFinite
        else { return nil }
        return (Array(stored[(end + 1)...]), Date(timeIntervalSince1970: seconds))
    }

    func value(_ entry: Entry) async throws(ExperimentationError) -> [UInt8]? { try await self.entry(entry)?.value }

    /// Stores a record's bytes with the current date.
    ///
    /// - Throws: The store's error, which has been logged.
    func set(_ value: [UInt8], _ entry: Entry) async throws(ExperimentationError) {
        let head = Array("\(time.now.timeIntervalSince1970)\n".utf8)
        do throws(ExperimentationError) {
            try await store.setValue(head + value, for: prefix + entry.rawValue)
        } catch {
            log.log(.error, "sigma.store", "The entry \(entry.rawValue) can't be kept: \(error)")
            throw error
        }
    }

    /// Decodes a record; one in another format counts as missing.
    func decode<Value: Decodable>(
        _ type: Value.Type,
        _ entry: Entry
    ) async throws(ExperimentationError) -> Value? {
        guard let bytes = try await value(entry) else { return nil }
        return try? JSON.decode(type, from: bytes)
    }

    func encode(_ value: some Encodable, _ entry: Entry) async throws(ExperimentationError) {
        guard let data = try? JSONEncoder().encode(value) else { return }
        try await set(Array(data), entry)
    }
}
