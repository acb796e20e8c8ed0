#if canImport(Network)
    import Dispatch
    import Network

    extension AsyncSequence where Self == AsyncStream<Connectivity> {
        /// What the system says of the network, from now on and with each change.
        ///
        /// For ``ExperimentationClient/followConnectivity(_:)``. The system is asked only while there is a listener.
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
        /// What the state of the path to the network means for deliveries.
        init(_ status: NWPath.Status) {
            switch status {
            case .satisfied: self = .online
            case .unsatisfied: self = .offline
            // There is none yet, and trying brings it up.
            case .requiresConnection: self = .unknown
            @unknown default: self = .unknown
            }
        }
    }
#endif
