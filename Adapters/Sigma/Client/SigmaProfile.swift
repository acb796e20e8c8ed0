import AdapterKit
import Experimentation
import Foundation
import Synchronization

/// A client's persistent state for its one user: the private id, the properties, the local forced list.
///
/// Changes take effect at once. An earlier run's state is read with the first call that needs it; changes made before
/// then take precedence. While the store can't be read, nothing is written, and every call tries to read it again.
final class SigmaProfile: Sendable {
    struct Edits {
        var user = SigmaEdits<SigmaUser.Entry>()
        var forced = SigmaEdits<Int?>()
    }

    private struct State {
        /// The changes that wait for the stored state; empty once that is loaded.
        var edits = Edits()
        var isLoaded = false
        /// Whether the log says that it can't be loaded.
        var isReported = false
        // Temporary until the stored state is loaded.
        var privateID = ""
        var user = SigmaUser()
        var forced: [String: Int?] = [:]
        /// The records that the store doesn't have in their current form.
        var unsaved: Set<SigmaRecords.Entry> = []
        /// Ends when the previous profile of these records has stored its changes.
        var handover: Task<Void, Never>?
        var loading: Task<Void, Never>?
        var saving: Task<Void, Never>?
        /// Whether the last save hasn't looked at the state yet.
        var isSaveWaiting = false

        mutating func applyEdits() {
            user = SigmaUser(edits.user.applied(to: user.entries))
            forced = edits.forced.applied(to: forced)
            if !edits.user.isEmpty { unsaved.insert(.user) }
            if !edits.forced.isEmpty { unsaved.insert(.forced) }
        }
    }

    private let state: Mutex<State>
    private let records: SigmaRecords
    private let imported: SigmaSDKRecords?
    private let environment: ClientEnvironment

    /// Creates a profile that begins with a user or, without one, with an earlier run's state.
    init(_ initialUser: SigmaUser?, records: SigmaRecords, after former: SigmaProfile?, options: SigmaClientOptions) {
        self.records = records
        imported = options.importing
        environment = options.environment
        state = Mutex(State())
        if let former { follow(former) }
        if let initialUser { replace(with: initialUser) }
    }

    // MARK: Changing

    func replace(with user: SigmaUser) { edit { $0.user.replaceAll(with: user.entries) } }

    func edit(_ change: (inout Edits) -> Void) {
        state.withLock { state in
            change(&state.edits)
            guard state.isLoaded else { return }
            state.applyEdits()
            state.edits = Edits()
        }
        saveLater()
    }

    // MARK: Reading

    /// The id in requests, also used where the user id is missing.
    func privateID() async -> String { await loaded().privateID }

    /// The local forced list: experiment names with the index of a group, if one was named.
    func forced() async -> [String: Int?] { await loaded().forced }

    /// The user as evaluated by rules, and the local forced list.
    func evaluated() async -> (context: EvaluationContext, forced: [String: Int?]) {
        let state = await loaded()
        let context = EvaluationContext(
            user: User(id: state.privateID, attributes: Attributes(state.user.properties.mapValues { .string($0) })),
            attributeDates: state.user.dates,
            date: environment.time.now
        )
        return (context, state.forced)
    }

    private func loaded() async -> State {
        await load()
        return state.withLock { $0 }
    }

    // MARK: Storing

    /// Waits until everything changed before this call is stored, or the store has failed.
    func saved() async { await state.withLock { $0.saving }?.value }

    private func follow(_ former: SigmaProfile) {
        // Keeps this profile alive until then, too: the profile after it waits for both.
        let handover = Task {
            // The former profile stores its generated id only after it is loaded.
            await former.load()
            await former.saved()
            withExtendedLifetime(self) {}
        }
        state.withLock { ($0.handover, $0.saving) = (handover, handover) }
    }

    private func saveLater() {
        state.withLock { state in
            guard !state.isSaveWaiting else { return }
            state.isSaveWaiting = true
            let previous = state.saving
            // One after the other, so that an older state never overwrites a newer one.
            state.saving = Task {
                await previous?.value
                await self.load()
                await self.write()
            }
        }
    }

    private func load() async {
        let loading = state.withLock { state -> Task<Void, Never>? in
            guard !state.isLoaded else { return nil }
            let loading = state.loading ?? Task { await self.restore() }
            state.loading = loading
            return loading
        }
        await loading?.value
    }

    private func restore() async {
        await state.withLock { $0.handover }?.value
        var stored: Stored?
        do throws(ExperimentationError) { stored = try await readStored() } catch {
            // Only the first failure is logged, since every call tries again.
            let isKnown = state.withLock { state in
                defer { state.isReported = true }
                return state.isReported
            }
            if !isKnown { environment.log.log(.error, "sigma.store", "The user can't be read: \(error)") }
        }
        let isOwed = state.withLock { [stored] state in
            let ownID = stored?.privateID
            // Once this client has an id of its own, the records of the vendor's SDK no longer count.
            let old = ownID == nil ? imported : nil
            let drawn = state.privateID.isEmpty ? nil : state.privateID
            state.privateID = ownID ?? old?.privateID ?? drawn ?? SigmaPrivateID.make(environment.jitter)
            state.user = stored?.user ?? old?.user?.dated(environment.time.now) ?? SigmaUser()
            state.forced = stored?.forced ?? old?.forced ?? [:]
            state.applyEdits()
            state.loading = nil
            // Without an answer from the store, this may be an existing installation, which must not be overwritten.
            guard stored != nil else { return false }
            if ownID == nil { state.unsaved = [.user, .forced, .privateID] }
            state.edits = Edits()
            state.isLoaded = true
            return !state.unsaved.isEmpty
        }
        // Queued like any other change: later edits come after it, or with it.
        if isOwed { saveLater() }
    }

    private typealias Stored = (privateID: String?, user: SigmaUser?, forced: [String: Int?]?)

    private func readStored() async throws(ExperimentationError) -> Stored {
        let id = try await records.value(.privateID).map { String(decoding: $0, as: UTF8.self) }
        return (
            id.flatMap { $0.isEmpty ? nil : $0 }, try await records.decode(SigmaUser.self, .user),
            try await records.decode([String: Int?].self, .forced)
        )
    }

    private func write() async {
        let current = state.withLock { state -> State? in
            state.isSaveWaiting = false
            guard state.isLoaded else { return nil }
            defer { state.unsaved = [] }
            return state
        }
        guard let current else { return }
        do throws(ExperimentationError) {
            if current.unsaved.contains(.user) { try await records.encode(current.user, .user) }
            if current.unsaved.contains(.forced) { try await records.encode(current.forced, .forced) }
            // The private id is stored last, because from then on the records of the vendor's SDK no longer count.
            if current.unsaved.contains(.privateID) {
                try await records.set(Array(current.privateID.utf8), .privateID)
            }
        } catch {
            // Logged; the next change stores these too.
            state.withLock { $0.unsaved.formUnion(current.unsaved) }
        }
    }
}

/// The generated id of an unnamed user.
enum SigmaPrivateID {
    private static let symbols = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")

    /// Draws 80 letters and digits, as the vendor's SDK does.
    static func make(_ chance: () -> Double) -> String {
        let count = Double(symbols.count)
        return String((0..<80).map { _ in symbols[Int(clamping: chance() * count, to: 0...symbols.count - 1)] })
    }
}
