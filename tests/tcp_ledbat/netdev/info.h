/* INET_DIAG_LEDBATINFO */

struct tcp_ledbat_info {
	/* in us, modulo 2^32; one-way delays contain the clocks' offset */
	__u32	ledbat_base_delay;
	__u32	ledbat_current_delay;
	__u32	ledbat_queuing_delay;	/* in us */
	__u32	ledbat_target;		/* in us */
	__u32	ledbat_one_way;		/* 1: one-way delays; 0: round trips */
};

