#if canImport(Network)
    import Dispatch
    import Network

    extension AsyncSequence where Self == AsyncStream<Connectivity> {
        /// The state of the network as the system reports it, from now on and with each change.
        ///
        /// For ``ExperimentationClient/followConnectivity(_:)``. The system is observed only while there is a listener.
        public static func network() -> AsyncStream<Connectivity> {
            AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
                let monitor = NWPathMonitor()
                monitor.pathUpdateHandler = { path in continuation.yield(Connectivity(path.status)) }
                continuation.onTermination = { _ in monitor.cancel() }
                monitor.start(queue: DispatchQueue(label: "experimentation.network"))
            }
        }
    }

    extension Connectivity {
        /// Maps the state of the network path to its meaning for deliveries.
        init(_ status: NWPath.Status) {
            switch status {
            case .satisfied: self = .online
            case .unsatisfied: self = .offline
            // There is none yet, but a connection attempt brings it up.
            case .requiresConnection: self = .unknown
            @unknown default: self = .unknown
            }
        }
    }
#endif
