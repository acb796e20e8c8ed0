import Synchronization

/// Tracks which screens still exist, so that answers that would come too late aren't requested.
final class EvergageSurfaces: Sendable {
    private let state = Mutex<(sessions: Set<String>, surfaces: Set<String>)>(([], []))

    /// The prefix of screens' surfaces; others are the application's own.
    static let prefix = "evergage.screen."

    func open(session: String) { state.withLock { _ = $0.sessions.insert(session) } }
    func open(surface: String) { state.withLock { _ = $0.surfaces.insert(surface) } }
    func close(surface: String) { state.withLock { _ = $0.surfaces.remove(surface) } }

    func isLive(session: String) -> Bool { state.withLock { $0.sessions.contains(session) } }
    func isLive(surface: String?) -> Bool {
        guard let surface, surface.hasPrefix(Self.prefix) else { return true }
        return state.withLock { $0.surfaces.contains(surface) }
    }
}
