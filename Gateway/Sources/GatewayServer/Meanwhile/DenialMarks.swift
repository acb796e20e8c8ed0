import Experimentation
import GatewayBodies
import Synchronization

/// The users who have denied consent while the database was away: nothing from before the denial is handed over.
///
/// A mark names the denial that set it, so that ending this denial leaves a later one in place. The mark also lists the
/// grants that are being accepted: an accepted grant counts even if the process ended before it could remove the mark.
final class DenialMarks: Sendable {
    private let state: any StateStore
    /// The number of grants that are being accepted for each user, by digest.
    private let granting = Mutex<[String: Int]>([:])

    private static let prefix = "gateway/denied/"
    /// The mark of earlier versions.
    private static let nameless = DenialMark([1])

    init(_ state: any StateStore) { self.state = state }

    /// What happens to a user's parcel.
    enum Standing: Sendable {
        /// The parcel may be handed over.
        case free
        /// The parcel dates from before a denial.
        case denied
        /// It can't be decided yet, for example while a grant is about to end the denial; it is checked again later.
        case unsettled
    }

    private static func key(_ userID: String) -> String { prefix + SeenEvents.digest(userID) }

    private func mark(of userID: String) async throws(ExperimentationError) -> DenialMark? {
        try await state.value(for: Self.key(userID)).map { DenialMark($0) }
    }

    /// Whether a user has denied consent.
    func isDenied(_ userID: String) async throws(ExperimentationError) -> Bool {
        try await mark(of: userID) != nil
    }

    /// Sets the mark of a denial.
    func set(by denial: EventRequest) async throws(ExperimentationError) {
        try await state.setValue(DenialMark(of: denial).bytes, for: Self.key(denial.user.id))
    }

    /// Ends a user's denial once a grant is accepted.
    ///
    /// If the grant isn't accepted, the denial remains in force.
    func end(
        by grant: EventRequest,
        once accept: () async throws(ExperimentationError) -> Void
    ) async throws(ExperimentationError) {
        let key = Self.key(grant.user.id)
        granting.withLock { $0[key, default: 0] += 1 }
        defer {
            granting.withLock { granting in
                let left = (granting[key] ?? 1) - 1
                granting[key] = left > 0 ? left : nil
            }
        }
        let mark = try await change(at: key) { $0.adding(grant) }
        do throws(ExperimentationError) { try await accept() } catch {
            // If the outcome is open, the grant may have been accepted.
            if !EventRefusal(error.code, error.message).isOpen {
                _ = try? await change(at: key) { $0.removing(grant) }
            }
            throw error
        }
        guard let mark else { return }
        try await change(at: key) { $0.denial == mark.denial ? nil : $0 }
    }

    /// Removes the mark that lists an event, which is a grant that was accepted.
    func settle(_ event: EventRequest) async throws(ExperimentationError) {
        try await change(at: Self.key(event.user.id)) { $0.lists(event) ? nil : $0 }
    }

    /// Removes the mark of a denial that has reached the database, which decides from then on.
    ///
    /// - Parameter denial: The denial; for any other event, nothing happens.
    func remove(after denial: EventRequest) async {
        guard case .consentChanged(false) = denial.event.kind else { return }
        let ended = [DenialMark(of: denial).denial, Self.nameless.denial]
        _ = try? await change(at: Self.key(denial.user.id)) { ended.contains($0.denial) ? nil : $0 }
    }

    /// Changes a user's mark, even if others change it at the same moment.
    ///
    /// - Parameters:
    ///   - key: The user's key.
    ///   - transform: Returns the changed mark; `nil` removes it.
    /// - Returns: The changed mark; `nil` also if there was none.
    /// - Throws: `ErrorCode.store`.
    @discardableResult
    private func change(
        at key: String,
        _ transform: (DenialMark) -> DenialMark?
    ) async throws(ExperimentationError) -> DenialMark? {
        var found = try await state.value(for: key)
        while let bytes = found {
            let mark = DenialMark(bytes)
            let changed = transform(mark)
            if changed == mark { return mark }
            guard case .conflict(let other) = try await state.update(key, to: changed?.bytes, if: bytes) else {
                return changed
            }
            found = other
        }
        return nil
    }

    /// What happens to a user's parcel that needs consent.
    ///
    /// - Parameters:
    ///   - userID: The user.
    ///   - event: The event in the parcel, if it contains one.
    /// - Returns: Whether the parcel may be handed over.
    func standing(of userID: String, for event: EventRequest? = nil) async -> Standing {
        // Read before the mark: a grant is removed from `granting` only after the mark is gone.
        let isGranting = granting.withLock { $0[Self.key(userID)] != nil }
        let found: DenialMark?
        // A mark that can't be read may be a denial.
        do throws(ExperimentationError) { found = try await mark(of: userID) } catch { return .unsettled }
        guard let mark = found else { return .free }
        if isGranting { return .unsettled }
        // A grant that waits in the file was accepted, although its process ended before it could report so.
        return event.map { mark.lists($0) } == true ? .free : .denied
    }
}
