import Experimentation
import Foundation

/// Whose consent the vendor knows of in an environment, from run to run.
///
/// The vendor knows of it once a signal was delivered. One that merely waits may still expire or be dropped, so a note
/// of it is believed only as long as a signal may wait.
struct FlagshipConsentNotes: Sendable {
    private static let prefix = "flagship/consent/"

    private let state: any StateStore
    private let environmentID: String
    private let trimmer: StateTrimmer

    init(state: any StateStore, environmentID: String) {
        self.state = state
        self.environmentID = environmentID
        trimmer = StateTrimmer(state, of: Self.prefix, to: 10_000)
    }

    /// How long a signal may wait.
    private static let longestWait = FlagshipConfiguration.oldestHit / .seconds(1)

    /// The note of a delivered signal; that of a waiting one is the time since when it waits.
    private static let told: [UInt8] = [1]

    /// Returns whether the vendor knows that a visitor has consented, or a signal that says so is on its way.
    func isKnown(_ visitorID: String, at now: Date) async -> Bool {
        for key in keys(visitorID) where await isValid(value(of: key), at: now) { return true }
        return false
    }

    /// Notes that a signal of a visitor's consent waits for its delivery.
    func wait(_ visitorID: String, at now: Date) async {
        let key = key(visitorID)
        let known = await value(of: key)
        // The delivery may be quicker: its note stays.
        guard !isValid(known, at: now) else { return }
        _ = try? await state.update(key, to: Array("\(now.timeIntervalSince1970)".utf8), if: known)
        await trimmer.trim()
    }

    /// Notes what the vendor was told last.
    func tell(_ visitorID: String, _ hasConsented: Bool) async {
        guard hasConsented else { return await forget(visitorID) }
        try? await state.setValue(Self.told, for: key(visitorID))
        await trimmer.trim()
    }

    /// Removes the note of a visitor, whose next consent is then sent whatever the vendor knew.
    func forget(_ visitorID: String) async {
        for key in keys(visitorID) { try? await state.setValue(nil, for: key) }
    }

    private func value(of key: String) async -> [UInt8]? { (try? await state.value(for: key)) ?? nil }

    private func isValid(_ note: [UInt8]?, at now: Date) -> Bool {
        guard let note else { return false }
        if note == Self.told { return true }
        guard let since = Double(String(decoding: note, as: UTF8.self)) else { return false }
        // A note from the future was written before the clock was set back.
        return (0..<Self.longestWait).contains(now.timeIntervalSince1970 - since)
    }

    private func key(_ visitorID: String) -> String { Self.prefix + Digest.hex(environmentID, visitorID) }

    /// The key, and that of the first releases.
    private func keys(_ visitorID: String) -> [String] {
        [key(visitorID), Self.prefix + FlagshipMurmur3.pair(of: visitorID, in: environmentID)]
    }
}
