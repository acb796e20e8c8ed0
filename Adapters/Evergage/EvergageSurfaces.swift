import Synchronization

/// Which screens there still are, so that an answer that would come too late isn't asked for.
final class EvergageSurfaces: Sendable {
    private let state = Mutex<(sessions: Set<String>, surfaces: Set<String>)>(([], []))

    /// What the surfaces of screens begin with; others are the application's own business.
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
