import Experimentation
import ExperimentationPostgres
import Foundation
import Synchronization

extension TenantConnection {
    /// Delivers waiting events that no instance is delivering, such as those left by an instance that died.
    ///
    /// Recent events are left to the instance that accepted them, which may be filling a batch. Does nothing while an
    /// earlier call is still running.
    func lookAfterOthers(now: Date) async {
        guard !isLooking.exchange(true, ordering: .acquiring) else { return }
        defer { isLooking.store(false, ordering: .releasing) }
        guard !isProvisional, case .postgres(let database) = identity.store else { return }
        await meanwhile?.look()
        guard shared?.isAway == false else { return }
        let patience = database.lease / .seconds(1)
        guard let shared, (try? await shared.hasUnclaimedEvents(before: now - patience, now: now)) == true else {
            return
        }
        _ = try? await client.flush(within: .seconds(30), retrying: false)
    }
}
