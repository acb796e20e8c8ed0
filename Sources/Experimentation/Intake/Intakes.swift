/// The ways into the store: two, so that the callers of one are answered and come back while the other's transaction is
/// under way.
///
/// All statements of a user take the same way, in order.
struct Intakes: Sendable {
    private let all: [Intake]

    init(_ create: () -> Intake) { all = [create(), create()] }

    /// The way of a user's statements.
    subscript(userID: String) -> Intake { all[Int(userID.utf8.reduce(0, ^) & 1)] }

    /// Waits until every earlier statement is in the store, or was refused by it.
    ///
    /// - Throws: ``ErrorCode/shutDown``, and what the store says while it takes nothing.
    func untilStored() async throws(ExperimentationError) {
        let failure = await withTaskGroup { group in
            for intake in all {
                group.addTask { () -> ExperimentationError? in
                    do throws(ExperimentationError) { try await intake.untilStored() } catch { return error }
                    return nil
                }
            }
            return await group.reduce(nil) { $0 ?? $1 }
        }
        if let failure { throw failure }
    }

    /// Waits until every earlier statement is in the store, or couldn't be stored.
    func drain() async { try? await untilStored() }

    /// Calls a listener for each way, once its earlier statements are in the store or couldn't be stored; not after
    /// ``close()``.
    func whenStored(_ listener: @escaping @Sendable () -> Void) {
        for intake in all { intake.note(.mark) { _ in listener() } }
    }

    /// Refuses statements from now on.
    func close() { for intake in all { intake.close() } }
}
