import AdapterKit
import Experimentation
import Foundation

extension Flagship {
    /// Imports a visitor's record from the vendor's SDK for iOS, so that the upgrade changes no visitor's variations.
    ///
    /// For a visitor who is already stored, it only adds variations of further groups, so importing the same record
    /// again replaces nothing. It stores nothing about a visitor who denies consent.
    ///
    /// - Parameter record: The value of the column `data_visitor` in its table of visitors.
    /// - Throws: `ErrorCode.parseError` for anything but a record.
    public func importVisitor(_ record: Data) async throws(ExperimentationError) {
        var visitor = try FlagshipVisitorRecord(record)
        guard visitor.consent else { return }
        if let known = await storedVisitor(visitor.visitorID) {
            let variations = known.assignments.merging(visitor.assignments) { known, _ in known }
            visitor = known
            visitor.assignments = variations
        }
        await store(visitor, in: client?.session(for: User(id: visitor.visitorID)))
    }

    /// Stores a visitor, unless they deny consent in any session, or withdraw it meanwhile.
    func store(_ record: FlagshipVisitorRecord, in session: UserSession?) async {
        let (visitors, id) = (visitors, record.visitorID)
        guard let session else { return await visitors.cacheVisitor(id, record.json) }
        await session.store(of: id) {
            await visitors.cacheVisitor(id, record.json)
        } orRemove: {
            await visitors.flushVisitor(id)
        }
    }

    /// Looks up a visitor, within the time limit for look-ups.
    func storedVisitor(_ id: String) async -> FlagshipVisitorRecord? {
        let found = await environment.time.value(within: options.caches.visitorLookupTimeout) { [visitors] in
            await visitors.lookupVisitor(id)
        }
        guard let data = found ?? nil else { return nil }
        guard let record = try? FlagshipVisitorRecord(data), ExactText(record.visitorID) == ExactText(id) else {
            environment.log.log(.warning, .cache, "the cached visitor can't be read, or is another")
            return nil
        }
        return record
    }

    /// Imports hits that the vendor's SDK for iOS hadn't sent yet.
    ///
    /// - Parameters:
    ///   - records: The values of the column `data_hit` in its table of hits, by id.
    ///   - environmentID: The environment; hits of another one are left out.
    ///   - apiKey: The key with which Flagship is then started.
    ///   - options: The options with which Flagship is then started.
    ///   - store: The store with which Flagship is then started.
    ///   - now: The time; hits older than four hours are left out.
    /// - Returns: How many were imported.
    /// - Throws: `ErrorCode.store` if the store can't be written; nothing was imported then.
    @discardableResult
    public static func importHits(
        _ records: [String: Data],
        environmentID: String,
        apiKey: Secret,
        options: FlagshipOptions = FlagshipOptions(),
        into store: ClientStore,
        now: Date
    ) async throws(ExperimentationError) -> Int {
        let oldest = FlagshipHitRecord.oldest(at: now)
        let envelopes = records.compactMapValues { try? FlagshipHitRecord(try JSON.parse($0)) }
            .filter { $1.time > oldest && $1.belongs(to: environmentID) }.envelopes
        let configuration = options.configuration(environmentID: environmentID, apiKey: apiKey)
        let destination = FlagshipProvider(configuration: configuration).destination
        let refusals = try await store.outbox.append(envelopes.map { NewEvent($0, to: destination) }, now: now)
        return refusals.count { $0 == nil }
    }
}
