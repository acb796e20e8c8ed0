import Experimentation
import Foundation
import Synchronization

/// A client's persistent state of its one user: the private id, the properties, the local forced list.
///
/// Changes take effect at once. What an earlier run left is read with the first call that needs it; changes made before
/// then take precedence.
final class SigmaProfile: Sendable {
    private enum Edit: Sendable {
        case replace(SigmaUser)
        case change([SigmaUser.Builder.Change])
    }

    private struct State {
        var user = SigmaUser()
        var privateID = ""
        var forced: [String: Int?] = [:]
        var isLoaded = false
        var edits: [Edit] = []
        var loading: Task<Void, Never>?
        var saving: Task<Void, Never>?

        mutating func apply(_ edit: Edit) {
            switch edit {
            case .replace(let user): self.user = user
            case .change(let changes): user.apply(changes)
            }
        }
    }

    private let state: Mutex<State>
    private let records: SigmaRecords
    private let imported: SigmaSDKRecords?
    private let environment: ClientEnvironment

    /// Creates a profile that begins with a user or, without one, with an earlier run's state.
    init(
        _ initialUser: SigmaUser?,
        records: SigmaRecords,
        importing imported: SigmaSDKRecords?,
        environment: ClientEnvironment
    ) {
        self.records = records
        self.imported = imported
        self.environment = environment
        state = Mutex(State(edits: initialUser.map { [.replace($0)] } ?? []))
    }

    // MARK: The user

    /// Replaces all of the user's properties.
    func replace(with user: SigmaUser) { edit(.replace(user)) }

    /// Applies changes to single properties.
    func apply(_ changes: [SigmaUser.Builder.Change]) { edit(.change(changes)) }

    private func edit(_ edit: Edit) {
        state.withLock { state in
            if state.isLoaded { state.apply(edit) } else { state.edits.append(edit) }
        }
        saveLater()
    }

    // MARK: Reading

    /// The id in requests, also used where the user id is missing.
    func privateID() async -> String {
        await load()
        return state.withLock { $0.privateID }
    }

    /// The local forced list: experiment names with the index of a group, if one was named.
    func forced() async -> [String: Int?] {
        await load()
        return state.withLock { $0.forced }
    }

    /// The user as evaluated by rules.
    func context(for project: SigmaProject) async -> EvaluationContext {
        await load()
        let (user, privateID, forced) = state.withLock { ($0.user, $0.privateID, $0.forced) }
        return EvaluationContext(
            user: User(id: privateID, attributes: Attributes(user.properties.mapValues { .string($0) })),
            overrides: forced.compactMap { name, index in Self.override(name, index, in: project) },
            attributeDates: user.dates,
            date: environment.time.now
        )
    }

    /// Returns an entry of the list, unless it names a group that the configuration no longer has.
    private static func override(_ name: String, _ index: Int?, in project: SigmaProject) -> AssignmentOverride? {
        guard let index else { return .include(experiment: name, variation: nil) }
        guard let experiment = project.experiment(named: name).map({ project.experiments[$0] }),
            experiment.groups.indices.contains(index)
        else { return nil }
        return .include(experiment: name, variation: experiment.groups[index].name)
    }

    // MARK: The local forced list

    /// Changes the list, and waits until the change is stored.
    func setForced(_ change: @Sendable (inout [String: Int?]) -> Void) async {
        await load()
        state.withLock { change(&$0.forced) }
        saveLater()
        await saved()
    }

    // MARK: Storing

    /// Waits until everything changed before this call is stored.
    func saved() async { await state.withLock { $0.saving }?.value }

    private func saveLater() {
        state.withLock { state in
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
        let id = await records.value(.privateID).map { String(decoding: $0, as: UTF8.self) }
        let user = await records.decode(SigmaUser.self, .user)
        let forced = await records.decode([String: Int?].self, .forced)
        let isNew = id?.isEmpty ?? true
        // Once we have an id of our own, the records of the vendor's SDK no longer count.
        let old = isNew ? imported : nil
        let isOwed = state.withLock { state in
            state.privateID =
                id.flatMap { $0.isEmpty ? nil : $0 } ?? old?.privateID ?? SigmaPrivateID.make(environment.jitter)
            state.user = user ?? old?.user?.dated(environment.time.now) ?? SigmaUser()
            state.forced = forced ?? old?.forced ?? [:]
            let wasEdited = !state.edits.isEmpty
            for edit in state.edits { state.apply(edit) }
            state.edits = []
            state.isLoaded = true
            state.loading = nil
            return wasEdited || isNew
        }
        // Queued like any other change: later edits come after it.
        if isOwed { saveLater() }
    }

    private func write() async {
        let (user, privateID, forced) = state.withLock { ($0.user, $0.privateID, $0.forced) }
        await records.set(Array(privateID.utf8), .privateID)
        await records.encode(user, .user)
        await records.encode(forced, .forced)
    }
}

/// The generated id of an unnamed user.
enum SigmaPrivateID {
    private static let symbols = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")

    /// Draws 80 letters and digits, as the vendor's SDK does.
    static func make(_ chance: () -> Double) -> String {
        String(
            (0..<80).map { _ in
                let drawn = Int(exactly: (chance() * Double(symbols.count)).rounded(.down)) ?? 0
                return symbols[max(0, min(symbols.count - 1, drawn))]
            }
        )
    }
}
